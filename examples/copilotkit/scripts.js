// What the two programs do with --scripted, where no model is asked.

/** Claude Code hands the prompt to Codex twice at once, and says what came of it. */
export const CLAUDE_SCRIPT = {
  turns: [
    [
      { say: "I'll ask Codex for both at once." },
      {
        tools: [
          { name: "delegate_to_agent", input: { agent: "codex", objective: "Write: {{prompt}}" } },
          { name: "delegate_to_agent", input: { agent: "codex", objective: "Test: {{prompt}}" } },
        ],
      },
      { say: "Codex says: {{result.0.summary}}", when: "ok" },
      { say: "Codex could not do it: {{result.0.error.message}}", when: "error" },
    ],
  ],
};

const TESTS = Array.from({ length: 40 }, (_, index) => `ok ${index + 1} - greets guest ${index + 1}\n`).join(
  "",
);

/** Codex changes a file, and asks before it runs something. */
export const CODEX_SCRIPT = {
  turns: [
    [
      { say: "My task is this. {{prompt}}", delayMs: 40 },
      { patch: { path: "src/greeting.js", diff: '+export const greeting = "Hello from Codex";\n' } },
      { shell: { command: "npm test", output: TESTS, ask: true } },
      { say: "All of it is done, and the tests pass.", delayMs: 40 },
    ],
  ],
};
