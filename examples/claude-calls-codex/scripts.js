// What the two programs do with --scripted, where no model is asked.

/** Claude Code hands the prompt to Codex and says what came of it. */
export const CLAUDE_SCRIPT = {
  turns: [
    [
      { say: "I'll ask Codex to do it." },
      { tools: [{ name: "delegate_to_agent", input: { agent: "codex", objective: "{{prompt}}" } }] },
      { say: "Codex says: {{result.0.summary}}", when: "ok" },
      { say: "Codex could not do it: {{result.0.error.message}}", when: "error" },
    ],
  ],
};

/** Codex looks around, changes a file and tells so. */
export const CODEX_SCRIPT = {
  turns: [
    [
      { say: "First I look at what is here." },
      { shell: { command: "ls", output: "README.md\n" } },
      { patch: { path: "greeting.txt", diff: "+Hello from Codex\n" } },
      { say: "greeting.txt says hello now." },
    ],
  ],
};
