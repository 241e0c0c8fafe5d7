import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it } from "vitest";
import { agentOf, FINISHED, untilAborted } from "../../test/support/fake-agent.js";
import { FakeRemote } from "../../test/support/fake-remote.js";
import { TroupeError } from "../core/errors.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createHost, type Host, type HostOptions } from "./host.js";

const TOKEN = "token-of-the-workspace-0123456789abcdefghij";

class Bench {
  readonly clock = new ManualClock();
  readonly remote = new FakeRemote();
  /** The token is good. */
  good = true;
  readonly #clients: Client[] = [];

  private constructor(private readonly options: Partial<HostOptions>) {}

  host: Host = Object.create(null);

  static async open(options: Partial<HostOptions> = {}): Promise<Bench> {
    const bench = new Bench(options);
    const { clock, remote } = bench;
    remote.onStart = (task) => task.send({ type: "accepted", taskId: "t", contextId: "c" });
    bench.host = await createHost({
      agents: {},
      clock,
      subAgents: [remote],
      syncBudgetMs: 1_000,
      workspace: {
        access: {
          admit: (token) => (token === TOKEN && bench.good ? () => bench.good : undefined),
          prove: () => undefined,
        },
        instance: "0".repeat(32),
      },
      ...bench.options,
    });
    return bench;
  }

  /** A client of an external parent, in the older era: its session has an end. */
  async connect(token = TOKEN, mode: "legacy" | "auto" = "legacy", name = "test") {
    const transport = new StreamableHTTPClientTransport(new URL(this.host.mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    const client = new Client({ name, version: "1" }, { versionNegotiation: { mode } });
    await client.connect(transport);
    this.#clients.push(client);
    return {
      call: async (tool: string, input: Record<string, unknown>): Promise<Record<string, unknown>> => {
        let answer: Record<string, unknown> | undefined;
        const call = client.callTool({ name: tool, arguments: input }).then(({ structuredContent }) => {
          answer = structuredContent as Record<string, unknown>;
        });
        // The call waits for its budget, or for an answer.
        await expect
          .poll(
            async () => {
              await this.clock.advance(100);
              return answer;
            },
            { interval: 2 },
          )
          .toBeDefined();
        await call;
        return answer ?? {};
      },
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      leave: () => transport.terminateSession(),
    };
  }

  async threads(): Promise<{ threadId: string; runs: number; run: { runId: string; status: string } }[]> {
    const response = await this.host.fetch(new Request("http://127.0.0.1/threads"));
    return (await response.json()).threads;
  }

  /** Moves on until `done`. @returns the time that took, in steps of 100 ms. */
  async until(done: () => unknown): Promise<number> {
    const from = this.clock.now();
    await expect
      .poll(
        async () => {
          await this.clock.advance(100);
          return Boolean(await done());
        },
        { interval: 2 },
      )
      .toBe(true);
    return this.clock.now() - from;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.host.close();
  }
}

let bench: Bench;
afterEach(() => bench.close());

const delegate = { agent: "research", objective: "Look." };

describe("an external run", () => {
  it("begins with the first call; what it began goes on for 10 s after its client", async () => {
    bench = await Bench.open();
    const client = await bench.connect();
    expect(await bench.threads()).toEqual([]);
    expect(await client.call("delegate_to_agent", delegate)).toMatchObject({ status: "working" });
    expect(await bench.threads()).toMatchObject([{ run: { status: "running" } }]);
    await client.leave();
    expect(await bench.until(() => bench.remote.cancels.length > 0)).toBeGreaterThanOrEqual(10_000);
    expect(bench.remote.cancels).toMatchObject([{ reason: "the run ended" }]);
    await bench.until(async () => (await bench.threads())[0]?.run.status === "finished");
  });

  it("ends at once when it has nothing open, and with its last delegation otherwise", async () => {
    bench = await Bench.open();
    const idle = await bench.connect();
    bench.remote.onStart = (task) => task.send({ type: "completed", message: "Done." });
    expect(await idle.call("delegate_to_agent", delegate)).toMatchObject({ status: "completed" });
    await idle.leave();
    expect(await bench.until(async () => (await bench.threads())[0]?.run.status === "finished")).toBeLessThan(
      10_000,
    );
    bench.remote.onStart = (task) => task.send({ type: "accepted", taskId: "t", contextId: "c" });
    const busy = await bench.connect();
    const { delegation_id } = await busy.call("delegate_to_agent", delegate);
    await busy.leave();
    bench.remote.tasks.at(-1)?.send({ type: "completed", message: "Late." });
    expect(await bench.until(async () => (await bench.threads())[0]?.run.status === "finished")).toBeLessThan(
      10_000,
    );
    const next = await bench.connect();
    expect(await next.call("task_result", { delegation_id })).toMatchObject({ summary: "Late." });
  });

  it("onRunEnd detach: goes on after the grace, and a later client waits for its result", async () => {
    bench = await Bench.open({ policy: { onRunEnd: "detach" } });
    const client = await bench.connect();
    const { delegation_id } = await client.call("delegate_to_agent", delegate);
    await client.leave();
    await bench.until(async () => (await bench.threads())[0]?.run.status === "finished");
    expect(bench.remote.cancels).toEqual([]);
    const next = await bench.connect();
    const waiting = next.call("task_result", { delegation_id, wait_seconds: 60 });
    bench.remote.tasks.at(-1)?.send({ type: "completed", message: "Much later." });
    expect(await waiting).toMatchObject({ status: "completed", summary: "Much later." });
  });

  it("is kept as long as another client asks for what it began", async () => {
    bench = await Bench.open();
    const client = await bench.connect();
    const { delegation_id } = await client.call("delegate_to_agent", delegate);
    const other = await bench.connect();
    await client.leave();
    expect(await other.call("task_status", { delegation_id })).toMatchObject({ status: "working" });
    await bench.clock.advance(60_000);
    expect(bench.remote.cancels).toEqual([]);
    await other.leave();
    expect(await bench.until(() => bench.remote.cancels.length > 0)).toBeGreaterThanOrEqual(10_000);
  });

  it("that a person stopped: the same client's next call begins another in its thread", async () => {
    bench = await Bench.open();
    const client = await bench.connect();
    await client.call("delegate_to_agent", delegate);
    const [first] = await bench.threads();
    const path = `http://127.0.0.1/runs/${first?.run.runId}/cancel`;
    const stop = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await bench.host.fetch(new Request(path, stop))).status).toBe(202);
    await bench.until(async () => (await bench.threads())[0]?.run.status === "cancelled");
    expect(bench.remote.cancels).toHaveLength(1);
    expect(await client.call("delegate_to_agent", delegate)).toMatchObject({ status: "working" });
    expect(await bench.threads()).toMatchObject([{ threadId: first?.threadId, runs: 2 }]);
  });

  it("does not reach what a driven run began", async () => {
    let token = "";
    const driven = agentOf(async (_sink, request) => {
      const [server] = request.mcpServers;
      token = server?.transport === "http" ? (server.headers?.Authorization ?? "").slice(7) : "";
      await untilAborted(request);
      return FINISHED;
    });
    bench = await Bench.open({ agents: { claude: driven.agent } });
    bench.host.run("claude", "Go on.");
    await expect.poll(() => token).not.toBe("");
    const inside = await bench.connect(token);
    const { delegation_id } = await inside.call("delegate_to_agent", delegate);
    const outside = await bench.connect();
    for (const tool of ["task_status", "task_result", "task_cancel"])
      expect(await outside.call(tool, { delegation_id })).toMatchObject({
        status: "failed",
        error: { code: "result_expired" },
      });
    // Nor the other way round.
    const { delegation_id: other } = await outside.call("delegate_to_agent", delegate);
    expect(await inside.call("task_status", { delegation_id: other })).toMatchObject({
      error: { code: "result_expired" },
    });
  });

  it("has the tools of an agent that was away at first as soon as that is back", async () => {
    bench = await Bench.open({ toolset: "skills" });
    const { clock, host, remote } = bench;
    const { onDescribe } = remote;
    remote.onDescribe = () => Promise.reject(new TroupeError("agent_unavailable", "connection refused"));
    await host.probe();
    const client = await bench.connect();
    const own = await client.tools();
    expect(own.filter((name) => name.startsWith("research"))).toEqual([]);
    const skills = [
      { id: "compare", name: "Compare", description: "Compares things.", tags: [], examples: [] },
    ];
    remote.onDescribe = async (signal) => ({ ...(await onDescribe(signal)), skills });
    await clock.advance(5_000);
    expect(await client.tools()).toEqual(expect.arrayContaining([...own, "research__compare"]));
  });

  it("has no watch_url on a host that does not listen", async () => {
    bench = await Bench.open();
    const client = await bench.connect();
    expect(await client.call("delegate_to_agent", delegate)).not.toHaveProperty("watch_url");
    await bench.host.listen({ port: 0 });
    expect(await client.call("delegate_to_agent", delegate)).toHaveProperty("watch_url");
  });
});

describe("a session over HTTP", () => {
  it("modern clients of one name share one, which ends ten minutes after their last answer", async () => {
    bench = await Bench.open();
    const one = await bench.connect(TOKEN, "auto", "one");
    await one.call("delegate_to_agent", delegate);
    const again = await bench.connect(TOKEN, "auto", "one");
    await again.call("delegate_to_agent", delegate);
    expect(await bench.threads()).toHaveLength(1);
    const two = await bench.connect(TOKEN, "auto", "two");
    await two.call("delegate_to_agent", delegate);
    expect(await bench.threads()).toHaveLength(2);
    await bench.clock.advance(599_000);
    expect((await bench.threads()).map(({ run }) => run.status)).toEqual(["running", "running"]);
    await bench.clock.advance(12_000);
    expect((await bench.threads()).map(({ run }) => run.status)).toEqual(["finished", "finished"]);
    expect(bench.remote.cancels).toHaveLength(3);
  });

  it("ends within moments when its token is revoked", async () => {
    bench = await Bench.open();
    const client = await bench.connect();
    await client.call("delegate_to_agent", delegate);
    bench.good = false;
    expect(await bench.until(() => bench.remote.cancels.length > 0)).toBeLessThan(13_000);
    await expect(bench.connect()).rejects.toThrow();
  });

  it("there are at most 64 at once", async () => {
    bench = await Bench.open();
    for (let index = 0; index < 64; index++) await bench.connect();
    await expect(bench.connect()).rejects.toThrow(/503|no more clients/);
  });
});
