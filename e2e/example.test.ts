import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { startMessagesServer } from "../src/testing/messages/messages-server.js";
import { startResponsesServer } from "../src/testing/responses/responses-server.js";
import { start } from "../test/cli/troupe.js";
import { realClaude } from "./real-claude.js";
import { CODEX_MISSING, realCodex, realCodexExecutable } from "./real-codex.js";

const EXAMPLE = fileURLToPath(new URL("../examples/claude-calls-codex/main.js", import.meta.url));

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe.skipIf(CODEX_MISSING !== undefined)(CODEX_MISSING ?? "examples/claude-calls-codex", () => {
  test("runs with the real programs, found on the PATH and configured as a person would", async () => {
    const patch = "*** Begin Patch\n*** Add File: greeting.txt\n+hello\n*** End Patch\n";
    const codexApi = await startResponsesServer({
      script: [
        { content: [{ type: "custom_tool_call", name: "apply_patch", callId: "call_p", input: patch }] },
        { content: [{ type: "text", text: "greeting.txt says hello now." }] },
      ],
    });
    closing.push(() => codexApi.close());
    const claudeApi = await startMessagesServer({
      script: [
        {
          content: [
            {
              type: "tool_use",
              name: "mcp__a2a-subagents__delegate_to_agent",
              input: { agent: "codex", objective: "Write greeting.txt." },
            },
          ],
        },
        { content: [{ type: "text", text: "Codex did it." }] },
      ],
    });
    closing.push(() => claudeApi.close());
    const claude = await realClaude({ baseUrl: claudeApi.url });
    closing.push(() => claude.close());
    const codex = await realCodex({ baseUrl: codexApi.url });
    closing.push(() => codex.close());
    await writeFile(join(codex.home, "config.toml"), configuration(codexApi.url));
    const bin = join(dirname(codex.home), "bin");
    await mkdir(bin);
    await symlink(claude.executable, join(bin, "claude"));
    await symlink(realCodexExecutable(), join(bin, "codex"));

    await using example = start(process.execPath, [EXAMPLE, "Have", "it", "written"], {
      cwd: claude.workspace,
      env: {
        ...claude.env,
        PATH: `${bin}:${claude.env.PATH}`,
        CODEX_HOME: codex.home,
        CODEX_WORKSPACE: codex.workspace,
        OPENAI_API_KEY: "scripted-key",
      },
    });
    expect(await example.exit, example.stderr).toBe(0);
    expect(example.stdout).toMatch(
      /┌ Codex\n {2}│ \[apply_patch\] .*greeting\.txt.*\n {2}│ greeting\.txt says hello now\.\n {2}└ you saw \d+ bytes.*\nCodex did it\.\n$/,
    );
    expect(await readFile(join(codex.workspace, "greeting.txt"), "utf8")).toBe("hello\n");
    expect(claudeApi.requests[0]?.conversation.prompt).toContain("Have it written");
    expect(codexApi.requests[0]?.conversation.prompt).toBe("Write greeting.txt.");
  });
});

function configuration(baseUrl: string): string {
  return `
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
analytics = { enabled = false }
features = { plugins = false, apps = false, remote_plugin = false }

[model_providers.scripted]
name = "scripted"
base_url = "${baseUrl}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
`;
}
