import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ScriptedAgent, startScriptedAgent } from "../../src/testing/a2a/start.js";
import { makeFolder, troupe } from "./troupe.js";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const TOKEN = "tok-9876543210";

let remote: ScriptedAgent;
beforeAll(async () => {
  remote = await startScriptedAgent({ name: "Research Agent", paceMs: 0, token: TOKEN });
});
afterAll(() => remote.close());

/** S2's own config: sub-agents, and nothing else. */
const configOf = (options: object = {}) =>
  JSON.stringify({
    subAgents: {
      agents: [
        {
          name: "research",
          agentCardUrl: remote.cardUrl,
          auth: { mode: "bearer", token: "${RESEARCH_TOKEN}" },
        },
      ],
      options,
    },
  });

async function connected(config: string, mode: "auto" | "legacy") {
  const folder = await makeFolder();
  const file = await folder.write("troupe.config.json", config);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "mcp", "--standalone", "--config", file],
    env: { PATH: process.env.PATH ?? "", RESEARCH_TOKEN: TOKEN },
    stderr: "pipe",
  });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return { client, transport, folder };
}

const structured = (result: { structuredContent?: unknown }) =>
  result.structuredContent as Record<string, unknown>;

describe.each(["auto", "legacy"] as const)("troupe mcp, with a client of the SDK (%s)", (mode) => {
  it("gives each skill as a tool, and answers with the remote's result alone", async () => {
    const { client, folder } = await connected(configOf(), mode);
    await using _ = folder;
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names.filter((name) => name.startsWith("research__")).length).toBeGreaterThan(0);
    expect(names).toContain("task_result");
    const tool = names.find((name) => name.startsWith("research__")) ?? "";
    const result = await client.callTool({
      name: tool,
      arguments: { message: "#say Hello.\n#artifact a.md 10" },
    });
    expect(structured(result)).toMatchObject({
      status: "completed",
      summary: "Hello.",
      artifacts: [{ name: "a.md", uri: expect.stringContaining("host://") }],
    });
    expect(JSON.stringify(result)).not.toContain(TOKEN);
    // Two at once, answered as they come.
    const [slow, quick] = await Promise.all(
      ["#delay 200\n#say slow", "#say quick"].map((message) =>
        client.callTool({ name: tool, arguments: { message } }),
      ),
    );
    expect([slow, quick].map((one) => structured(one ?? {}).summary)).toEqual(["slow", "quick"]);
    await client.close();
  });
});

describe("troupe mcp --standalone", () => {
  it("ends when its client does, and cancels what the remote still does", async () => {
    const { client, transport, folder } = await connected(configOf({ toolset: "generic" }), "auto");
    await using _ = folder;
    const { pid } = transport;
    const call = client.callTool({
      name: "delegate_to_agent",
      arguments: { agent: "research", objective: "#hang" },
    });
    call.catch(() => undefined);
    await expect.poll(async () => (await remote.seen()).filter(isHang).length).toBe(1);
    await client.close();
    await expect.poll(() => isAlive(pid)).toBe(false);
    await expect
      .poll(async () => (await remote.seen()).filter(({ method }) => /cancel/i.test(method)).length)
      .toBe(1);
  });

  it("a handle outlives the call that got it", async () => {
    const { client, folder } = await connected(configOf({ toolset: "generic", syncBudgetMs: 1 }), "auto");
    await using _ = folder;
    const objective = "#delay 300\n#say Late.";
    const first = await client.callTool({
      name: "delegate_to_agent",
      arguments: { agent: "research", objective },
    });
    expect(structured(first)).toMatchObject({ status: "working" });
    const { delegation_id } = structured(first);
    await expect
      .poll(
        async () =>
          structured(await client.callTool({ name: "task_result", arguments: { delegation_id } })).summary,
      )
      .toBe("Late.");
    await client.close();
  });

  it("without a config, or with a variable that is missing, it says so on standard error", async () => {
    await using folder = await makeFolder();
    await using none = troupe(["mcp"], { cwd: folder.path });
    expect([await none.exit, none.stdout]).toEqual([2, ""]);
    expect(none.stderr).toContain("troupe.config.json");
    await folder.write("troupe.config.json", configOf());
    await using missing = troupe(["mcp"], { cwd: folder.path });
    expect([await missing.exit, missing.stdout]).toEqual([2, ""]);
    expect(missing.stderr).toContain("RESEARCH_TOKEN");
  });
});

function isHang({ params }: { readonly params: unknown }): boolean {
  return JSON.stringify(params).includes("#hang");
}

function isAlive(pid: number | null): boolean {
  try {
    return pid !== null && process.kill(pid, 0);
  } catch {
    return false;
  }
}
