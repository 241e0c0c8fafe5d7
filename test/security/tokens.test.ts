import { describe, expect, it } from "vitest";
import type { DriverRequest } from "../../src/core/driver.js";
import { createHost } from "../../src/host/host.js";
import { byHeader } from "../support/app-bench.js";
import { agentOf, FINISHED } from "../support/fake-agent.js";
import { FakeRemote } from "../support/fake-remote.js";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const CALL = {
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "delegate_to_agent", arguments: { agent: "research", objective: "Go on" } },
};

/** A host whose agent's program keeps what it was given, as one that was talked into it would. */
async function thief(authorised = false) {
  const requests: DriverRequest[] = [];
  const ends: (() => void)[] = [];
  const remote = new FakeRemote();
  const { agent } = agentOf((_sink, request) => {
    requests.push(request);
    return new Promise((resolve) => {
      ends.push(() => resolve(FINISHED));
      request.signal.addEventListener("abort", () => resolve({ status: "cancelled" }), { once: true });
    });
  });
  const host = await createHost({
    agents: { fake: agent },
    subAgents: [remote],
    ...(authorised ? { authorise: byHeader } : {}),
  });
  const server = () => {
    const found = requests.at(-1)?.mcpServers.find(({ transport }) => transport === "http");
    if (found?.transport !== "http") throw new Error("the run has no endpoint");
    return {
      url: found.url,
      authorization: found.headers?.Authorization ?? found.headers?.authorization ?? "",
    };
  };
  const ask = (authorization: string, body: unknown, more: Record<string, string> = {}, method = "POST") =>
    fetch(host.mcpUrl, {
      method,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization,
        ...more,
      },
      ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
    });
  return { host, remote, ends, server, ask, requests };
}

describe("the token of a run, after its end", () => {
  it.each(["finished", "cancelled"])(
    "opens nothing, nor do the sessions that it opened (%s)",
    async (how) => {
      const { host, remote, ends, server, ask, requests } = await thief();
      const { run } = host.run("fake", "Hello");
      await expect.poll(() => requests.length).toBe(1);
      const { authorization } = server();
      expect(authorization).toMatch(/^Bearer \S{40,}$/);
      const opened = await ask(authorization, INITIALIZE);
      expect(opened.status).toBe(200);
      const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
      await opened.text();
      const listening = await ask(authorization, undefined, session, "GET");
      expect(listening.status).toBe(200);

      if (how === "finished") ends.at(-1)?.();
      else await run.cancel("user");
      await run.result.catch(() => undefined);

      // The stream that was open has ended, and everything else is refused.
      await listening.text().catch(() => undefined);
      for (const answer of [
        await ask(authorization, INITIALIZE),
        await ask(authorization, CALL, session),
        await ask(authorization, CALL),
        await ask(authorization, undefined, session, "GET"),
        await ask(authorization, undefined, session, "DELETE"),
      ])
        expect(answer.status).toBe(401);
      expect(remote.tasks).toEqual([]);
      await host.close();
    },
  );

  it("is not that of the next run of its thread, which does not know its sessions either", async () => {
    const { host, ends, server, ask, requests } = await thief();
    const first = host.run("fake", "Hello", { threadId: "t", runId: "r1" });
    await expect.poll(() => requests.length).toBe(1);
    const old = server().authorization;
    const opened = await ask(old, INITIALIZE);
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    ends.at(-1)?.();
    await first.run.result;
    const second = host.run("fake", "Hello", { threadId: "t", runId: "r2" });
    await expect.poll(() => requests.length).toBe(2);
    const now = server().authorization;
    expect(now).not.toBe(old);
    expect((await ask(old, CALL)).status).toBe(401);
    expect((await ask(now, CALL, session)).status).toBe(404);
    ends.at(-1)?.();
    await second.run.result;
    await host.close();
  });

  it("is good for the MCP endpoint alone, also while the run goes on", async () => {
    const { host, ends, server, requests } = await thief(true);
    const { run } = host.run("fake", "Hello");
    await expect.poll(() => requests.length).toBe(1);
    const { authorization } = server();
    for (const path of ["/agents", "/threads", "/"]) {
      const request = new Request(`http://127.0.0.1${path}`, { headers: { authorization } });
      expect((await host.fetch(request)).status).toBe(401);
    }
    ends.at(-1)?.();
    await run.result;
    await host.close();
  });
});
