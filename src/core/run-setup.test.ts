import { afterEach, describe, expect, it, vi } from "vitest";
import { deferred, settle } from "../../test/support/deferred.js";
import { agentOf, CAPABLE, complete, FINISHED, say, start, typesOf } from "../../test/support/fake-agent.js";
import { ManualClock } from "../testing/manual-clock.js";
import type { RunOptions } from "./agent.js";
import type { DriverOutcome } from "./driver.js";
import { TroupeError } from "./errors.js";
import type { RunEvent } from "./run-event.js";
import type { RunAttachment, RunContext, RunOutcome } from "./run-service.js";
import { createMemoryThreadStore, type ThreadCheckpoint } from "./thread.js";

describe("threads", () => {
  const checkpoint = (workspace: string): ThreadCheckpoint => ({ driver: "fake", workspace, session: "s1" });

  it.each(["failed", "cancelled"] as const)("a %s run commits nothing", async (status) => {
    const threads = createMemoryThreadStore();
    await complete(
      start(
        (_sink, { workspace }) => ({ status, checkpoint: checkpoint(workspace) }),
        { threads },
        { thread: "t" },
      ),
    );
    expect(await threads.get("t")).toBeUndefined();
  });

  it("a FINISHED run commits, and the next one goes on from there", async () => {
    const threads = createMemoryThreadStore();
    const { agent, requests } = agentOf(
      (_sink, { workspace }) => ({ status: "finished", checkpoint: checkpoint(workspace) }),
      { threads },
    );
    for (let index = 0; index < 2; index++) await agent.run("Hello", { thread: "t" }).result;
    expect(requests.map(({ resume, persist }) => ({ resume, persist }))).toEqual([
      { resume: undefined, persist: true },
      { resume: { checkpoint: checkpoint(agent.workspace), fork: false }, persist: true },
    ]);
    await agent.run("Hello", { thread: "t", threadMode: "fork" }).result;
    expect(requests[2]?.resume).toEqual({ checkpoint: checkpoint(agent.workspace), fork: true });
    await agent.run("Hello", { thread: "t", threadMode: "new" }).result;
    await agent.run("Hello").result;
    expect(requests.slice(3).map(({ resume, persist }) => ({ resume, persist }))).toEqual([
      { resume: undefined, persist: true },
      { resume: undefined, persist: false },
    ]);
  });

  it.each(["resume", "fork"] as const)("%s insists on something to go on from", async (threadMode) => {
    const { agent, requests } = agentOf(() => FINISHED);
    const { error } = await complete(agent.run("Hello", { thread: "t", threadMode }));
    expect(error?.code).toBe("resume_failed");
    expect(requests).toEqual([]);
  });

  it.each([
    { driver: "other", workspace: undefined },
    { driver: "fake", workspace: "/elsewhere" },
  ])("never goes on from a checkpoint of another driver or workspace: %j", async ({ driver, workspace }) => {
    const threads = createMemoryThreadStore();
    const { agent, requests } = agentOf(() => FINISHED, { threads });
    await threads.set("t", { driver, workspace: workspace ?? agent.workspace, session: "s" });
    await agent.run("Hello", { thread: "t" }).result;
    expect(requests[0]?.resume).toBeUndefined();
    expect((await complete(agent.run("Hello", { thread: "t", threadMode: "resume" }))).error?.code).toBe(
      "resume_failed",
    );
  });

  it("a store that fails makes a warning, not a failed run", async () => {
    const threads = { get: async () => undefined, set: () => Promise.reject(new Error("disk full")) };
    const { events } = await complete(
      start(
        (_sink, { workspace }) => ({ status: "finished", checkpoint: checkpoint(workspace) }),
        { threads },
        { thread: "t" },
      ),
    );
    expect(typesOf(events)).toEqual(["run.started", "notice", "run.finished"]);
    expect(events[1]).toMatchObject({ level: "warning", code: "thread_not_saved", message: "disk full" });
  });

  it.each([
    { capability: "resume", run: { thread: "t", threadMode: "resume" } },
    { capability: "fork", run: { thread: "t", threadMode: "fork" } },
    {
      capability: "mcpHttp",
      run: { mcpServers: [{ name: "a", transport: "http", url: "http://localhost" }] },
    },
    { capability: "mcpStdio", run: { mcpServers: [{ name: "a", transport: "stdio", command: "x" }] } },
  ] satisfies { capability: keyof typeof CAPABLE; run: RunOptions }[])(
    "an option that needs $capability is refused before the launch",
    async ({ capability, run }) => {
      const { agent, requests } = agentOf(() => FINISHED, {}, { ...CAPABLE, [capability]: false });
      expect((await complete(agent.run("Hello", run))).error?.code).toBe("capability_unsupported");
      expect(requests).toEqual([]);
    },
  );

  it("two MCP servers of one name are refused", async () => {
    const server = { name: "a", transport: "stdio", command: "x" } as const;
    const { error } = await complete(
      start(() => FINISHED, { mcpServers: [server] }, { mcpServers: [server] }),
    );
    expect(error).toMatchObject({ code: "invalid_input", message: expect.stringContaining('"a"') });
  });
});

describe("services", () => {
  interface Seen {
    readonly log: string[];
    readonly contexts: RunContext[];
  }
  const service = (name: string, seen: Seen, attachment: Partial<RunAttachment> = {}) => ({
    name,
    async attach(context: RunContext): Promise<RunAttachment> {
      seen.log.push(`attach ${name}`);
      seen.contexts.push(context);
      return {
        observe: (event) => void seen.log.push(`${name} ${event.type}`),
        cancel: (reason) => void seen.log.push(`cancel ${name} ${reason}`),
        detach: async (outcome: RunOutcome) => void seen.log.push(`detach ${name} ${outcome}`),
        ...attachment,
      };
    },
  });
  const seen = (): Seen => ({ log: [], contexts: [] });

  it("equip the program, see every event after they are attached, and are detached before the terminal event", async () => {
    const all = seen();
    const { agent, requests } = agentOf(
      (sink) => {
        say(sink, "Hi.");
        return FINISHED;
      },
      {
        env: { A: "1" },
        services: [
          service("one", all, {
            mcpServers: [
              {
                name: "m",
                transport: "http",
                url: "http://localhost/mcp",
                headers: { Authorization: "Bearer ${RUN_TOKEN}" },
              },
            ],
            env: { B: "2" },
          }),
        ],
      },
    );
    const events: RunEvent[] = [];
    await agent.run("Hello", { runId: "run-7", thread: "t", onEvent: (event) => events.push(event) }).result;
    const token = all.contexts[0]?.token ?? "";
    expect(all.contexts[0]).toMatchObject({
      runId: "run-7",
      thread: "t",
      agent: "fake",
      workspace: agent.workspace,
    });
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(requests[0]?.env).toMatchObject({ A: "1", B: "2" });
    expect(requests[0]?.mcpServers).toMatchObject([
      { name: "m", headers: { Authorization: `Bearer ${token}` } },
    ]);
    expect(all.log).toEqual([
      "attach one",
      "one text.start",
      "one text.delta",
      "one text.end",
      "detach one finished",
      "one run.finished",
    ]);
    expect(JSON.stringify(events)).not.toContain(token);
  });

  it("the terminal event waits for a detach that takes its time, bounded", async () => {
    const clock = new ManualClock();
    const events: RunEvent[] = [];
    const all = seen();
    const run = agentOf(() => FINISHED, {
      clock,
      services: [service("slow", all, { detach: () => new Promise(() => undefined) }), service("quick", all)],
    }).agent.run("Hello", { onEvent: (event) => events.push(event) });
    await clock.advance(59_999);
    expect(all.log).toContain("detach quick finished");
    expect(typesOf(events)).toEqual(["run.started"]);
    await clock.advance(1);
    await run.result;
    expect(typesOf(events)).toEqual(["run.started", "run.finished"]);
    expect(clock.pending).toBe(0);
  });

  it("a detach that fails fails nothing", async () => {
    const all = seen();
    const failing = service("bad", all, { detach: () => Promise.reject(new Error("no")) });
    const throwing = service("worse", all, {
      detach: () => {
        throw new Error("no");
      },
    });
    await start(() => FINISHED, { services: [failing, throwing] }).result;
  });

  it("an attach that fails fails the run, and what was attached is detached", async () => {
    const all = seen();
    const { agent, requests } = agentOf(() => FINISHED, {
      services: [
        service("one", all),
        { name: "bad", attach: () => Promise.reject(new TroupeError("internal", "no port")) },
        service("never", all),
      ],
    });
    const { error } = await complete(agent.run("Hello"));
    expect(error).toMatchObject({ code: "internal", message: "no port" });
    expect(requests).toEqual([]);
    expect(all.log).toEqual(["attach one", "detach one failed", "one run.failed"]);
  });

  it("are told of a cancel at once, before the program is gone", async () => {
    const all = seen();
    const gone = deferred<DriverOutcome>();
    const run = start(() => gone.promise, { services: [service("one", all), service("two", all)] });
    await settle();
    const cancelling = run.cancel("stop");
    expect(all.log.slice(-2)).toEqual(["cancel one stop", "cancel two stop"]);
    gone.resolve({ status: "cancelled" });
    await cancelling;
    expect(all.log.filter((line) => line.startsWith("cancel"))).toHaveLength(2);
    expect(all.log.slice(-4)).toEqual([
      "detach one cancelled",
      "detach two cancelled",
      "one run.cancelled",
      "two run.cancelled",
    ]);
  });
});

describe("the program's environment", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("holds what the driver names and the agent gives, and no secret of the host", async () => {
    vi.stubEnv("RESEARCH_TOKEN", "s3cret");
    vi.stubEnv("FAKE_MODEL", "big");
    const { agent, requests } = agentOf(() => FINISHED, { env: { EXTRA: "1" } });
    await agent.run("Hello").result;
    expect(requests[0]?.env).toMatchObject({ FAKE_MODEL: "big", EXTRA: "1", PATH: process.env.PATH });
    expect(JSON.stringify(requests[0]?.env)).not.toContain("s3cret");
  });
});
