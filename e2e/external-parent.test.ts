import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { startScriptedAgent } from "../src/testing/a2a/start.js";
import { startMessagesServer } from "../src/testing/messages/messages-server.js";
import { type Command, start, troupe } from "../test/cli/troupe.js";
import { realClaude } from "./real-claude.js";

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
  const auth = { mode: "bearer", token: "${RESEARCH_TOKEN}" };
  const config = {
    subAgents: {
      agents: [{ name: "research", agentCardUrl: remote.cardUrl, auth }],
      options: { toolset: "generic" },
    },
    serve: { port: 0 },
  };
  await writeFile(join(cwd, "troupe.config.json"), JSON.stringify(config));
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
