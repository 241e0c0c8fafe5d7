import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { startScriptedAgent } from "../src/testing/a2a/start.js";
import { startMessagesServer } from "../src/testing/messages/messages-server.js";
import { startResponsesServer } from "../src/testing/responses/responses-server.js";
import { type Command, start, troupe } from "../test/cli/troupe.js";
import { realClaude } from "./real-claude.js";
import { CODEX_MISSING, realCodex, realCodexExecutable } from "./real-codex.js";

const SERVER = "a2a-subagents";
const DELEGATE = `mcp__${SERVER}__delegate_to_agent`;
const TOKEN = "remote-credential-that-stays-in-the-host";

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A person's folder with a config, the printed server of `troupe mcp install claude`, and Claude Code in it. */
async function personsFolder(legacy: boolean, content: string) {
  const remote = await startScriptedAgent({ name: "Research Agent", paceMs: 0, token: TOKEN });
  closing.push(() => remote.close());
  const api = await startMessagesServer({
    script: [
      {
        content: [{ type: "tool_use", name: DELEGATE, input: { agent: "research", objective: content } }],
      },
      { content: [{ type: "text", text: "Research says so." }] },
    ],
  });
  closing.push(() => api.close());
  const claude = await realClaude({ baseUrl: api.url, legacy });
  closing.push(() => claude.close());
  const cwd = claude.workspace;
  await writeFile(join(cwd, "troupe.config.json"), configOf(remote.cardUrl));
  const installed = troupe(["mcp", "install", "claude", "--json"], { cwd });
  expect(await installed.exit, installed.stderr).toBe(0);
  await writeFile(join(cwd, "printed.json"), String(installed.lines[0]?.snippet));
  const ask = (env: Readonly<Record<string, string>> = {}): Command =>
    start(
      claude.executable,
      [
        "-p",
        "Ask research.",
        "--mcp-config",
        join(cwd, "printed.json"),
        "--strict-mcp-config",
        "--setting-sources",
        "",
        "--allowedTools",
        DELEGATE,
      ],
      { cwd, env: { ...claude.env, ...env } },
    );
  const host = async () => JSON.parse(await readFile(join(cwd, ".troupe", "host.json"), "utf8"));
  return { cwd, api, remote, ask, host };
}

describe.each([
  ["2026-07-28", false],
  ["older", true],
] as const)("Claude Code in a person's own terminal (%s)", (_era, legacy) => {
  test("delegates through troupe mcp into the running host, which shows it", async () => {
    const { cwd, api, ask, host } = await personsFolder(legacy, "#say Three sources agree.");
    await using serving = troupe(["serve", "--background", "--json"], {
      cwd,
      env: { RESEARCH_TOKEN: TOKEN },
    });
    await serving.says("}\n");
    await using claude = ask();
    claude.child.stdin?.end();
    expect(await claude.exit, claude.stderr + claude.stdout).toBe(0);
    expect(claude.stdout).toContain("Research says so.");

    const { url } = await host();
    const [thread] = (await (await fetch(`${url}/threads`)).json()).threads;
    expect(thread).toMatchObject({ run: { agent: "mcp-client" }, runs: 1 });
    const [result] = api.requests.at(-1)?.conversation.toolResults ?? [];
    const told = JSON.parse(String(result?.text));
    expect(told).toMatchObject({
      status: "completed",
      summary: "Three sources agree.",
      watch_url: `${url}/#thread=${thread.threadId}`,
    });
    const delegation = await (await fetch(`${url}/delegations/${told.delegation_id}`)).json();
    expect(delegation).toMatchObject({
      threadId: thread.threadId,
      correlation: "strong",
      status: "completed",
    });
    // The bridge is gone with the program, the host is not.
    await expect
      .poll(async () => (await (await fetch(`${url}/threads`)).json()).threads[0].run.status)
      .toBe("finished");
    expect(JSON.stringify(api.requests)).not.toContain(TOKEN);
  });

  test("killed in mid-delegation: it goes on under the host that its server started", async () => {
    const { api, ask, host, remote } = await personsFolder(legacy, "#delay 3000\n#say It went on.");
    await using claude = ask({ RESEARCH_TOKEN: TOKEN });
    claude.child.stdin?.end();
    await expect
      .poll(
        async () =>
          (await remote.seen()).filter((seen) => JSON.stringify(seen).includes("It went on")).length,
      )
      .toBe(1);
    const { url, pid } = await host();
    closing.push(async () => process.kill(pid, "SIGTERM"));
    claude.child.kill("SIGKILL");
    await claude.exit;
    await expect
      .poll(async () => (await (await fetch(`${url}/threads`)).json()).threads[0].run.status)
      .toBe("finished");
    const [thread] = (await (await fetch(`${url}/threads`)).json()).threads;
    const { delegations } = await (await fetch(`${url}/runs/${thread.run.runId}/delegations`)).json();
    expect(delegations).toMatchObject([{ status: "completed", result: { summary: "It went on." } }]);
    expect((await remote.seen()).filter(({ method }) => /cancel/i.test(method))).toEqual([]);
    expect(api.requests).toHaveLength(1);
  });
});

describe.skipIf(CODEX_MISSING !== undefined)(CODEX_MISSING ?? "Codex in a person's own terminal", () => {
  test("takes what troupe mcp install wrote, and the variables that it names", async () => {
    const remote = await startScriptedAgent({ name: "Research Agent", paceMs: 0, token: TOKEN });
    closing.push(() => remote.close());
    const api = await startResponsesServer({
      script: [
        {
          content: [
            {
              type: "function_call",
              callId: "call_1",
              name: "delegate_to_agent",
              namespace: "mcp__a2a_subagents",
              arguments: { agent: "research", objective: "#say Codex was answered." },
            },
          ],
        },
        { content: [{ type: "text", text: "Research says so." }] },
      ],
    });
    closing.push(() => api.close());
    const codex = await realCodex({ baseUrl: api.url });
    closing.push(() => codex.close());
    const { workspace: cwd, home } = codex;
    await writeFile(join(home, "config.toml"), codexConfig(api.url));
    await writeFile(join(cwd, "troupe.config.json"), configOf(remote.cardUrl));
    const installed = troupe(["mcp", "install", "codex", "--dir", home, "--write"], { cwd });
    expect(await installed.exit, installed.stderr).toBe(0);
    await using asked = start(
      realCodexExecutable(),
      [
        "exec",
        "--skip-git-repo-check",
        // There is no person here to ask.
        "-c",
        'mcp_servers.a2a-subagents.default_tools_approval_mode="approve"',
        // Nor another turn, when the server has come up.
        "-c",
        "mcp_servers.a2a-subagents.required=true",
        "Ask research.",
      ],
      { cwd, env: { ...codex.env, RESEARCH_TOKEN: TOKEN } },
    );
    asked.child.stdin?.end();
    expect(await asked.exit, asked.stderr + asked.stdout).toBe(0);
    const { url, pid } = JSON.parse(await readFile(join(cwd, ".troupe", "host.json"), "utf8"));
    closing.push(async () => process.kill(pid, "SIGTERM"));
    const { threads } = await (await fetch(`${url}/threads`)).json();
    const { delegations } = await (await fetch(`${url}/runs/${threads[0].run.runId}/delegations`)).json();
    expect(delegations).toMatchObject([
      { correlation: "strong", status: "completed", result: { summary: "Codex was answered." } },
    ]);
    expect(JSON.stringify(api.requests)).toContain("Codex was answered.");
    expect(await readFile(join(home, "config.toml"), "utf8")).not.toContain(TOKEN);
  });
});

function configOf(cardUrl: string): string {
  const auth = { mode: "bearer", token: "${RESEARCH_TOKEN}" };
  return JSON.stringify({
    subAgents: {
      agents: [{ name: "research", agentCardUrl: cardUrl, auth }],
      options: { toolset: "generic" },
    },
    serve: { port: 0 },
  });
}

function codexConfig(baseUrl: string): string {
  return `
model = "scripted-model"
model_provider = "scripted"
check_for_update_on_startup = false
analytics = { enabled = false }
features = { plugins = false, apps = false, remote_plugin = false }

[model_providers.scripted]
name = "scripted"
base_url = "${baseUrl}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
`;
}
