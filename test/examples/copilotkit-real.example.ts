import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { realClaude } from "../../e2e/real-claude.js";
import { CODEX_MISSING, realCodex, realCodexExecutable } from "../../e2e/real-codex.js";
import { startMessagesServer } from "../../src/testing/messages/messages-server.js";
import { startResponsesServer } from "../../src/testing/responses/responses-server.js";
import { startBrowser, type TestPage } from "../browser/browser.js";
import { type Command, start } from "../cli/troupe.js";
import { deferred } from "../support/deferred.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/copilotkit/", import.meta.url));
const INSTALLED = existsSync(new URL("../../e2e/node_modules", import.meta.url));
const MISSING =
  CODEX_MISSING ?? (INSTALLED ? undefined : "The real programs are not installed: npm ci in e2e.");

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const PATCH = "*** Begin Patch\n*** Add File: greeting.txt\n+hello\n*** End Patch\n";

describe.skipIf(MISSING !== undefined)(MISSING ?? "examples/copilotkit with the real programs", () => {
  it("the real Claude Code calls the real Codex: its work is seen in CopilotKit before the call has a result", async () => {
    const seen = deferred<void>();
    const codexApi = await startResponsesServer({
      script: [
        {
          content: [
            { type: "text", text: "I write the file first." },
            { type: "custom_tool_call", name: "apply_patch", callId: "call_p", input: PATCH },
          ],
        },
        {
          content: [
            { type: "pause", until: seen.promise },
            { type: "text", text: "greeting.txt says hello now." },
          ],
        },
      ],
    });
    closing.push(() => codexApi.close());
    const objective = "Write greeting.txt.";
    const claudeApi = await startMessagesServer({
      script: [
        {
          content: [
            {
              type: "tool_use",
              name: "mcp__a2a-subagents__delegate_to_agent",
              input: { agent: "codex", objective },
            },
          ],
        },
        { content: [{ type: "text", text: "Codex did it." }] },
      ],
    });
    closing.push(() => claudeApi.close());
    const { example, codexWorkspace } = await startExample(claudeApi.url, codexApi.url);
    await using browser = await startBrowser();
    await using opened = await browser.open(addressOf(example));
    await send(opened, "Have it written");
    const card = opened.page.locator(".call", { hasText: "delegate_to_agent" }).locator(".subagent");
    await card.getByText("I write the file first.").waitFor({ timeout: 40_000 });
    await card.locator(".tool", { hasText: "apply_patch" }).waitFor();
    await expect.poll(() => codexApi.requests.length).toBe(2);
    expect(await card.locator(".state").textContent()).toBe("Working");
    expect(claudeApi.requests).toHaveLength(1);

    await opened.page.reload();
    await card.getByText("I write the file first.").waitFor();
    expect(await card.locator(".state").textContent()).toBe("Working");
    seen.resolve();
    await expect.poll(() => card.locator(".state").textContent()).toBe("Done");
    await opened.page.getByText("Codex did it.").waitFor();

    expect(await readFile(join(codexWorkspace, "greeting.txt"), "utf8")).toBe("hello\n");
    expect(codexApi.requests[0]?.conversation.prompt).toBe(objective);
    // What a person saw of Codex did not go to the parent's model: it got the result alone.
    const told = JSON.stringify(claudeApi.requests[1]);
    expect(told).toContain("greeting.txt says hello now.");
    expect(told).not.toContain("apply_patch");
    expect(opened.complaints).toEqual([]);
  });

  it("what the real Claude Code asks is answered in the page", async () => {
    const input = { command: "echo hello > made.txt", description: "Make a file" };
    const claudeApi = await startMessagesServer({
      script: [
        { content: [{ type: "tool_use", name: "Bash", input }] },
        { content: [{ type: "text", text: "It is made." }] },
      ],
    });
    closing.push(() => claudeApi.close());
    const { example, claudeWorkspace } = await startExample(claudeApi.url, claudeApi.url);
    await using browser = await startBrowser();
    await using opened = await browser.open(addressOf(example));
    await send(opened, "Make it");
    await opened.page.locator(".notice").getByRole("button", { name: "approve" }).click();
    await opened.page.getByText("It is made.").waitFor();
    expect(await opened.page.locator(".notice").count()).toBe(0);
    expect(await readFile(join(claudeWorkspace, "made.txt"), "utf8")).toBe("hello\n");
  });

  it("says why the real Claude Code could not go on", async () => {
    const claudeApi = await startMessagesServer({
      script: () => ({ error: { status: 401, type: "authentication_error", message: "invalid x-api-key" } }),
    });
    closing.push(() => claudeApi.close());
    const { example } = await startExample(claudeApi.url, claudeApi.url);
    await using browser = await startBrowser();
    await using opened = await browser.open(addressOf(example));
    await send(opened, "Hello");
    await expect
      .poll(() => opened.page.getByRole("alert").textContent())
      .toMatch(/not logged in|log in|login/i);
  });
});

function addressOf(example: Command): string {
  return /Open (\S+)/.exec(example.stdout)?.[1] ?? "";
}

async function send({ page }: TestPage, text: string): Promise<void> {
  await page.locator("textarea").fill(text);
  await page.keyboard.press("Enter");
}

/** Starts the example with both programs on the PATH, configured as a person would, each with a scripted API. */
async function startExample(claudeUrl: string, codexUrl: string) {
  const claude = await realClaude({ baseUrl: claudeUrl });
  closing.push(() => claude.close());
  const codex = await realCodex({ baseUrl: codexUrl });
  closing.push(() => codex.close());
  await writeFile(join(codex.home, "config.toml"), configuration(codexUrl));
  const bin = join(dirname(codex.home), "bin");
  await mkdir(bin);
  await symlink(claude.executable, join(bin, "claude"));
  await symlink(realCodexExecutable(), join(bin, "codex"));
  const example = start(process.execPath, [`${EXAMPLE}server.js`], {
    cwd: claude.workspace,
    env: {
      ...claude.env,
      PATH: `${bin}:${claude.env.PATH}`,
      CODEX_HOME: codex.home,
      CODEX_WORKSPACE: codex.workspace,
      OPENAI_API_KEY: "scripted-key",
    },
  });
  closing.push(async () => {
    example.child.kill("SIGTERM");
    await example.exit;
  });
  await example.says("Open ");
  return { example, claudeWorkspace: claude.workspace, codexWorkspace: codex.workspace };
}

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
