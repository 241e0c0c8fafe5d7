import { describe, expect, it, vi } from "vitest";
import { agentOf, FINISHED } from "../../test/support/fake-agent.js";
import { FakeRemote } from "../../test/support/fake-remote.js";
import type { ThreadEvent } from "../bridges/agui/event.js";
import type { Journal } from "../journal/journal.js";
import { createMemoryJournal } from "../journal/memory-journal.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createHost } from "./host.js";

const agents = { claude: agentOf(() => FINISHED).agent };

describe("createHost", () => {
  it.each(["0.0.0.0", "::", "192.168.1.5", "host.example"])(
    "refuses to listen on %s without an authoriser",
    async (hostname) => {
      const host = await createHost({ agents });
      await expect(host.listen({ hostname, port: 0 })).rejects.toMatchObject({
        code: "authoriser_required",
        message: expect.stringContaining(hostname),
      });
      await host.close();
    },
  );

  it("listens on loopback, and anywhere with an authoriser", async () => {
    const open = await createHost({ agents });
    const { url } = await open.listen({ port: 0 });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await open.close();
    const closed = await createHost({ agents, authorise: () => undefined });
    const { url: anywhere } = await closed.listen({ hostname: "0.0.0.0", port: 0 });
    expect((await fetch(`${anywhere.replace("0.0.0.0", "127.0.0.1")}/agents`)).status).toBe(401);
    await closed.close();
  });

  it("a port that is taken is an error of the caller, not an unhandled one", async () => {
    const host = await createHost({ agents });
    const { url } = await host.listen({ port: 0 });
    await expect(host.listen({ port: Number(new URL(url).port) })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
    await host.close();
  });

  it("runs an agent in code, and gives its entries to the end", async () => {
    const host = await createHost({ agents });
    const { entries, run, threadId } = host.run("claude", "Hello");
    const types: string[] = [];
    for await (const { event } of entries) types.push(event.type);
    expect(types).toEqual(["run.started", "run.finished"]);
    await run.result;
    expect(threadId).toMatch(/^thread-/);
    expect(() => host.run("nobody", "Hello")).toThrow(/claude/);
    await host.close();
  });

  it("the policy of all sub-agents is under each one's own; what they are is asked, and shown without any address", async () => {
    const remote = new FakeRemote();
    const host = await createHost({
      agents,
      subAgents: [{ remote, policy: { maxArtifacts: 1 } }],
      policy: { maxArtifacts: 5 },
    });
    expect(await host.probe()).toMatchObject([{ key: "research", status: "ready" }]);
    const answer = await host.fetch(new Request("http://localhost/agents"));
    expect(await answer.json()).toEqual({
      agents: [{ key: "claude", name: "fake", driver: "fake" }],
      subAgents: [
        {
          key: "research",
          name: "Research Agent",
          protocol: "a2a",
          status: "ready",
          description: "Finds things out.",
          skills: [],
        },
      ],
    });
    await host.close();
    expect(remote.closed).toBe(true);
  });

  it("two sub-agents of one name are refused", async () => {
    await expect(createHost({ agents, subAgents: [new FakeRemote(), new FakeRemote()] })).rejects.toThrow(
      /research/,
    );
  });
});

describe("update", () => {
  it("what begins from now on has the new agents and sub-agents; who is no longer there is closed", async () => {
    const { agent, requests } = agentOf(() => FINISHED);
    const remote = new FakeRemote();
    const host = await createHost({ agents: { one: agent } });
    const servers = async (key: string) => {
      await host.run(key, "Hello").run.result;
      return requests.at(-1)?.mcpServers.map(({ name }) => name);
    };
    expect(await servers("one")).toEqual([]);
    host.update({ agents: { two: agent }, subAgents: [remote] });
    expect(await servers("two")).toEqual(["a2a-subagents"]);
    expect(() => host.run("one", "Hello")).toThrow(/two/);
    expect(() => host.update({ agents: {}, subAgents: [remote, remote] })).toThrow(/research/);
    expect(await servers("two")).toEqual(["a2a-subagents"]);
    host.update({ agents: { two: agent } });
    expect(await servers("two")).toEqual([]);
    await expect.poll(() => remote.closed).toBe(true);
    await host.close();
  });
});

describe("a journal that does not take the end of a run", () => {
  it.each(["in code", "over HTTP", "over HTTP, afterwards"])(
    "who reads the run gets what there is, and does not wait for ever: %s",
    async (how) => {
      const journal = createMemoryJournal<ThreadEvent>({ clock: new ManualClock() });
      const full: Journal<ThreadEvent> = {
        append: async (entry) => {
          if (entry.event.type === "run.finished") throw new Error("the disk is full");
          return journal.append(entry);
        },
        read: (...args) => journal.read(...args),
        head: (...args) => journal.head(...args),
        close: () => journal.close(),
      };
      const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
      const host = await createHost({ agents, journal: full, onDisconnect: "continue" });
      const post = () =>
        host.fetch(
          new Request("http://localhost/agents/claude/run", {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({
              threadId: "t",
              runId: "r",
              messages: [{ id: "u", role: "user", content: "Hello" }],
            }),
          }),
        );
      if (how === "in code") {
        const types: string[] = [];
        for await (const { event } of host.run("claude", "Hello").entries) types.push(event.type);
        expect(types).toEqual(["run.started"]);
      } else {
        if (how.endsWith("afterwards")) await (await post()).text();
        expect(await (await post()).text()).toContain("RUN_STARTED");
      }
      expect(logged).toHaveBeenCalled();
      logged.mockRestore();
      await host.close();
    },
  );
});
