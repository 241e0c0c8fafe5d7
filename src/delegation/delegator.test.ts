import { describe, expect, it, vi } from "vitest";
import { reachableBytes } from "../../test/leaks/machine.js";
import { deferred } from "../../test/support/deferred.js";
import { DelegationBench } from "../../test/support/delegations.js";
import { TroupeError } from "../core/errors.js";
import { ArtifactLinks } from "./artifact-links.js";
import type { RemoteDescription } from "./remote.js";

const ACCEPTED = { type: "accepted", taskId: "task-1", contextId: "ctx-1" } as const;
const NOTHING = { timers: 0, permits: 0 };
const refusal = (answer: Promise<unknown>) =>
  answer.then(
    () => undefined,
    (error: unknown) => (error instanceof TroupeError ? error : undefined),
  );

describe("starting", () => {
  it("hands the whole request to the remote, and no more than that", async () => {
    const bench = new DelegationBench();
    const input = {
      agent: "research",
      objective: "Find out",
      input: { prompt: "Be brief.", context: "Monday." },
    };
    const answer = bench.run.delegate(input, { tool: "delegate_to_agent", input, callId: "toolu_1" });
    await bench.clock.advance(0);
    expect(bench.task.task).toEqual({
      delegationId: "del-1",
      messageId: "msg-2",
      run: { runId: "run-1" },
      text: "Find out\n\nBe brief.\n\nContext:\nMonday.",
      artifacts: [],
      metadata: {
        troupe: {
          runId: "run-1",
          delegationId: "del-1",
          lineage: [{ agent: "run-1", delegationId: "del-1", card: "f1" }],
        },
      },
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
    });
    bench.task.send(ACCEPTED, { type: "text", messageId: "m", delta: "42" }, { type: "completed" });
    await bench.clock.advance(0);
    expect(await answer).toMatchObject({
      delegation_id: "del-1",
      status: "completed",
      summary: "42",
      remote_task_id: "task-1",
    });
    expect(bench.types()).toEqual(["started", "text.start", "text.delta", "text.end", "finished"]);
    expect(bench.events[0]).toMatchObject({
      agentName: "Research Agent",
      cardFingerprint: "f1",
      objective: "Find out",
    });
    expect(bench.left).toEqual(NOTHING);
  });

  it("an unknown agent is refused with the list of known ones, and nobody is asked", async () => {
    const bench = new DelegationBench();
    const input = { agent: "unknown", objective: "x" };
    const error = await refusal(bench.run.delegate(input, { tool: "t", input }));
    expect(error).toMatchObject({ code: "agent_not_found", message: expect.stringContaining("research") });
    expect([bench.remote.described, bench.remote.tasks.length, bench.events.length]).toEqual([0, 0, 0]);
    expect(bench.left).toEqual(NOTHING);
  });

  it("a remote that cannot be reached is a delegation that failed, starts nothing, holds nothing; another call may try again", async () => {
    const bench = new DelegationBench();
    const describeWell = bench.remote.onDescribe;
    bench.remote.onDescribe = () =>
      Promise.reject(new TroupeError("agent_unavailable", "refused", { retryable: true }));
    const refused = await bench.call("x", { callId: "toolu_1" });
    expect(await refused.answer).toMatchObject({
      delegation_id: "del-1",
      status: "failed",
      error: { code: "agent_unavailable", message: "refused", retryable: true },
    });
    expect(bench.types()).toEqual(["started", "failed"]);
    expect(bench.remote.tasks).toEqual([]);
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
    bench.remote.onDescribe = describeWell;
    const { answer } = await bench.call("x", { callId: "toolu_2" });
    bench.task.send({ type: "completed", message: "now" });
    expect(await answer).toMatchObject({ summary: "now" });
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });

  it("case 104: a remote that never says what it is, is given up within a bound", async () => {
    const bench = new DelegationBench();
    bench.remote.onDescribe = () => new Promise(() => undefined);
    const { answer } = await bench.call();
    await bench.clock.advance(30_000);
    expect(await answer).toMatchObject({ error: { code: "agent_unavailable", retryable: true } });
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });

  it("a card that changed since the last time is the one that is told, and that it changed is told once", async () => {
    const bench = new DelegationBench();
    await bench.registry.probe(1_000);
    bench.remote.onDescribe = async () => ({
      name: "New",
      description: "",
      skills: [],
      streaming: true,
      fingerprint: "f2",
    });
    await bench.call();
    await bench.clock.advance(250);
    expect(bench.events[0]).toMatchObject({
      agentName: "New",
      cardFingerprint: "f2",
      cardChangedFrom: "f1",
    });
    await bench.call();
    await bench.clock.advance(250);
    expect(bench.events[1]).toMatchObject({ type: "subagent.started", cardFingerprint: "f2" });
    expect(bench.events[1]).not.toHaveProperty("cardChangedFrom");
  });

  it("cases 104, 115: it is shown soon, whether the remote has accepted or not", async () => {
    const bench = new DelegationBench();
    await bench.call();
    expect(bench.types()).toEqual([]);
    await bench.clock.advance(250);
    expect(bench.types()).toEqual(["started"]);
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    expect(bench.types()).toEqual(["started", "status"]);
  });
});

describe("idempotency", () => {
  it("a call that is sent again joins the delegation that it started, while it works and afterwards", async () => {
    const bench = new DelegationBench();
    const first = await bench.call("x", { callId: "toolu_1" });
    const second = await bench.call("x", { callId: "toolu_1" });
    bench.task.send({ type: "completed", message: "42" });
    expect(await second.answer).toBe(await first.answer);
    expect(await (await bench.call("x", { callId: "toolu_1" })).answer).toBe(await first.answer);
    expect(bench.remote.tasks).toHaveLength(1);
    expect(bench.run.ofCall("toolu_1")?.identity.delegationId).toBe("del-1");
  });

  it("also while it still starts; case 050: the message is sent once", async () => {
    const bench = new DelegationBench();
    const describing = deferred<RemoteDescription>();
    bench.remote.onDescribe = () => describing.promise;
    const calls = [
      await bench.call("x", { callId: "toolu_1" }),
      await bench.call("x", { callId: "toolu_1" }),
    ];
    describing.resolve({ name: "R", description: "", skills: [], streaming: true });
    await bench.clock.advance(0);
    bench.task.send({ type: "completed", message: "42" });
    expect((await Promise.all(calls.map(({ answer }) => answer))).map(({ summary }) => summary)).toEqual([
      "42",
      "42",
    ]);
    expect(bench.remote.tasks).toHaveLength(1);
  });

  it("calls without an id, and calls of another run, are their own", async () => {
    const bench = new DelegationBench();
    const other = bench.delegator.openRun({ runId: "run-2", thread: "/t" });
    await bench.call();
    await bench.call();
    await bench.call("x", { callId: "toolu_1" });
    await bench.call("x", { callId: "toolu_1", run: other });
    expect(bench.remote.tasks).toHaveLength(4);
  });
});

describe("limits of what runs at once", () => {
  it("per run: the next is agent_busy and may try again when one ended", async () => {
    const bench = new DelegationBench({ maxConcurrentPerRun: 1 });
    await bench.call();
    const { answer } = await bench.call();
    expect(await refusal(answer)).toMatchObject({
      code: "agent_busy",
      retryable: true,
      message: expect.stringContaining("run"),
    });
    const other = bench.delegator.openRun({ runId: "run-2", thread: "/t" });
    await bench.call("x", { run: other });
    expect(bench.remote.tasks).toHaveLength(2);
    bench.remote.tasks[0]?.send({ type: "completed" });
    await bench.clock.advance(0);
    await bench.call();
    expect(bench.remote.tasks).toHaveLength(3);
  });

  it("per host, over all runs; a refused one holds no permit of its run", async () => {
    const bench = new DelegationBench({ maxConcurrentPerHost: 1, maxConcurrentPerRun: 1 });
    const other = bench.delegator.openRun({ runId: "run-2", thread: "/t" });
    await bench.call();
    expect(await refusal((await bench.call("x", { run: other })).answer)).toMatchObject({
      code: "agent_busy",
      message: expect.stringContaining("host"),
    });
    bench.task.send({ type: "completed" });
    await bench.clock.advance(0);
    await bench.call("x", { run: other });
    expect(bench.remote.tasks).toHaveLength(2);
  });

  it("by policy a call waits for its turn, and is refused when that does not come", async () => {
    const bench = new DelegationBench({ maxConcurrentPerRun: 1, queueMs: 1_000 });
    const first = await bench.call();
    bench.task.send(ACCEPTED);
    const second = await bench.call();
    await bench.clock.advance(500);
    expect(bench.remote.tasks).toHaveLength(1);
    bench.task.send({ type: "completed" });
    expect(await first.answer).toMatchObject({ status: "completed" });
    await bench.clock.advance(0);
    expect(bench.remote.tasks).toHaveLength(2);
    const third = await bench.call();
    await bench.clock.advance(1_000);
    expect(await refusal(third.answer)).toMatchObject({ code: "agent_busy" });
    bench.task.send({ type: "completed" });
    expect(await second.answer).toMatchObject({ status: "completed" });
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });

  it("a run that ends stops waiting for its turn", async () => {
    const bench = new DelegationBench({ maxConcurrentPerRun: 1, queueMs: 60_000 });
    const first = await bench.call();
    bench.task.send(ACCEPTED);
    const second = await bench.call();
    await bench.run.close("the run ended");
    expect(await first.answer).toMatchObject({ status: "cancelled" });
    expect(await refusal(second.answer)).toMatchObject({
      code: expect.stringMatching(/agent_busy|cancelled/),
    });
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });

  it("every way to end gives the permit back", async () => {
    const bench = new DelegationBench({ maxConcurrentPerRun: 1, inputRequired: "fail" });
    const ends: (() => void)[] = [
      () => bench.task.send({ type: "completed" }),
      () => bench.task.send({ type: "failed" }),
      () => bench.task.send({ type: "rejected" }),
      () => bench.task.send({ type: "cancelled" }),
      () => bench.task.send({ type: "disconnected", message: "reset" }),
      () => bench.task.end(),
      () => bench.task.throw(new Error("bug")),
      () => void bench.delegator.cancel(bench.task.task.delegationId, "user"),
      () => bench.task.send({ type: "input_required" }),
    ];
    for (const end of ends) {
      const { answer } = await bench.call();
      bench.task.send(ACCEPTED);
      await bench.clock.advance(0);
      end();
      await answer;
      await bench.clock.advance(0);
      expect(bench.left).toEqual(NOTHING);
      expect(bench.task.returned, String(end)).toBe(true);
    }
    expect(bench.events.filter(({ type }) => /finished|failed|cancelled/.test(type))).toHaveLength(
      ends.length,
    );
  });
});

describe("a run that ends", () => {
  it("while a delegation is starting: nothing is started, the call is told", async () => {
    for (const stop of ["close", "cancelAll"] as const) {
      const bench = new DelegationBench();
      const describing = deferred<RemoteDescription>();
      let asked: AbortSignal | undefined;
      bench.remote.onDescribe = (signal) => {
        asked = signal;
        return describing.promise;
      };
      const { answer } = await bench.call();
      await bench.run[stop]("the run ended");
      expect(asked?.aborted).toBe(true);
      describing.resolve({ name: "R", description: "", skills: [], streaming: true });
      await bench.clock.advance(0);
      expect(await refusal(answer)).toMatchObject({ code: "cancelled" });
      expect(bench.remote.tasks).toEqual([]);
      expect(bench.left).toEqual(NOTHING);
    }
  });

  it("cancels what works, and resolves when each has its terminal event", async () => {
    const bench = new DelegationBench();
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    await bench.run.close("the run ended");
    expect(bench.terminal).toMatchObject({
      type: "subagent.cancelled",
      reason: "the run ended",
      confirmed: true,
    });
    expect(await answer).toMatchObject({ status: "cancelled" });
    expect(bench.remote.cancels).toMatchObject([
      { reference: { taskId: "task-1", contextId: "ctx-1" }, reason: "the run ended" },
    ]);
    expect(await refusal((await bench.call()).answer)).toMatchObject({ code: "cancelled" });
    expect(bench.left).toEqual(NOTHING);
  });

  it("waits for a cancel that is not confirmed no longer than its bound, and goes on watching", async () => {
    const bench = new DelegationBench({ cancelTimeoutMs: 5_000, cancelWatchMs: 60_000 });
    bench.remote.onCancel = () => new Promise(() => undefined);
    await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    const closed = vi.fn();
    void bench.run.close("the run ended").then(closed);
    await bench.clock.advance(4_999);
    expect(closed).not.toHaveBeenCalled();
    await bench.clock.advance(1);
    expect(closed).toHaveBeenCalled();
    expect(bench.terminal).toMatchObject({ type: "subagent.cancelled", confirmed: false });
    expect(bench.remote.cancels[0]?.signal.aborted).toBe(true);
    const count = bench.events.length;
    bench.remote.onLook = async () => ({ over: bench.remote.looks > 2, remoteStatus: "canceled" });
    await bench.clock.advance(60_000);
    expect(bench.remote.looks).toBe(3);
    expect(bench.remote.cancels.length).toBeGreaterThan(1);
    expect(bench.events).toHaveLength(count);
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("correlation", () => {
  it("puts the delegation under its call, at once or when it is known", async () => {
    const bench = new DelegationBench({}, { correlationGraceMs: 100 });
    await bench.call("x");
    await bench.clock.advance(100);
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    expect(bench.events[0]).toMatchObject({ type: "subagent.started", correlation: "none" });
    expect(bench.events[0]).not.toHaveProperty("parentToolCallId");
    bench.run.observe({
      type: "tool.start",
      toolCallId: "toolu_1",
      name: "mcp__a__delegate_to_agent",
      tool: "delegate_to_agent",
    });
    bench.run.observe({
      type: "tool.args",
      toolCallId: "toolu_1",
      delta: '{"agent":"research","objective":"x"}',
    });
    bench.run.observe({ type: "tool.end", toolCallId: "toolu_1" });
    expect(bench.events.at(-1)).toMatchObject({
      type: "subagent.correlated",
      parentToolCallId: "toolu_1",
      correlation: "medium",
    });
    bench.task.send({ type: "completed" });
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("artifacts of earlier delegations go along", () => {
  async function withArtifact() {
    const bench = new DelegationBench();
    const { answer } = await bench.call();
    bench.task.send(
      {
        type: "artifact",
        chunk: {
          id: "a",
          name: "Bericht für Ada.md",
          mimeType: "text/markdown",
          mode: "append",
          bytes: Buffer.from("hi"),
          last: true,
        },
      },
      { type: "completed" },
    );
    const result = await answer;
    return { bench, uri: result.artifacts?.[0]?.uri ?? "" };
  }
  const withUri = (uri: string) => ({
    agent: "research",
    objective: "x",
    input: { artifacts: [{ name: "in.md", uri }] },
  });

  it("with their bytes", async () => {
    const { bench, uri } = await withArtifact();
    const input = withUri(uri);
    void bench.run.delegate(input, { tool: "t", input });
    await bench.clock.advance(0);
    expect(bench.task.task.artifacts).toEqual([
      { name: "in.md", mimeType: "text/markdown", bytes: Buffer.from("hi") },
    ]);
  });

  it("not those of another run, nor what does not exist, nor another host:// name", async () => {
    const { bench, uri } = await withArtifact();
    const other = bench.delegator.openRun({ runId: "run-2", thread: "/t" });
    const sameName = bench.delegator.openRun({ runId: "run-1", thread: "other/t" });
    for (const [run, wanted] of [
      [other, uri],
      [sameName, uri],
      [bench.run, `${uri}x`],
      [bench.run, "host://etc/passwd"],
      [bench.run, "host://delegations/../artifacts/a"],
    ] as const) {
      const input = withUri(wanted);
      expect(await refusal(run.delegate(input, { tool: "t", input }))).toMatchObject({
        code: "invalid_input",
      });
    }
    expect(bench.remote.tasks).toHaveLength(1);
    expect(bench.left.permits).toBe(0);
  });

  it("a call may ask for fewer artifacts than the host allows", async () => {
    const bench = new DelegationBench({ maxArtifacts: 5 });
    const { answer } = await bench.call("x", { constraints: { max_artifacts: 1 } });
    for (const id of ["a", "b"])
      bench.task.send({
        type: "artifact",
        chunk: { id, mode: "replace", bytes: Buffer.from("x"), last: true },
      });
    bench.task.send({ type: "completed" });
    expect((await answer).artifacts?.map(({ error }) => error?.code)).toEqual([undefined, "policy_denied"]);
  });
});

describe("what the host knows", () => {
  it("is found by id and by run of one thread; what ended is kept up to a number", async () => {
    const bench = new DelegationBench({}, { keepEnded: 2 });
    const elsewhere = bench.delegator.openRun({ runId: "run-1", thread: "other/t" });
    await bench.call("x", { run: elsewhere });
    for (let index = 0; index < 3; index++) {
      await bench.call();
      bench.task.send({ type: "completed" });
      await bench.clock.advance(0);
    }
    const ids = (thread: string) =>
      bench.delegator.list({ runId: "run-1", thread }).map(({ identity }) => identity.delegationId);
    expect(ids("/t")).toHaveLength(2);
    expect(ids("other/t")).toEqual(["del-1"]);
    expect(bench.delegator.get("del-1")?.state.phase).not.toBe("over");
    expect(bench.delegator.get("del-9")).toBeUndefined();
    expect(bench.delegator.list({ runId: "none", thread: "/t" })).toEqual([]);
  });

  it("what worked on a delegation goes with its end, while its run goes on; its call still has its result", async () => {
    const bench = new DelegationBench();
    const worker = async () => {
      const { answer } = await bench.call("x", { callId: "toolu_1" });
      const active = bench.delegator.active("del-1");
      if (active === undefined) throw new Error("It did not begin.");
      bench.task.send({ type: "completed", message: "Done" });
      await bench.clock.advance(0);
      await answer;
      bench.remote.tasks.length = 0;
      return new WeakRef(active);
    };
    const reference = await worker();
    const isGone = () => {
      reachableBytes();
      return reference.deref() === undefined;
    };
    await expect.poll(isGone).toBe(true);
    const { answer } = await bench.call("x", { callId: "toolu_1" });
    expect(await answer).toMatchObject({ delegation_id: "del-1", summary: "Done" });
  });

  it("cancel by id: only once, only what exists and works", async () => {
    const bench = new DelegationBench();
    await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    expect(bench.delegator.cancel("del-9", "user")).toBe(false);
    expect(bench.delegator.cancel("del-1", "user")).toBe(true);
    await bench.clock.advance(0);
    expect(bench.delegator.cancel("del-1", "user")).toBe(false);
    expect(bench.terminal).toMatchObject({ type: "subagent.cancelled", reason: "user" });
    expect(bench.remote.cancels).toHaveLength(1);
  });
});

describe("what goes on without its run", () => {
  it("a call that still waits for it is answered with the run's end, which does not wait for it", async () => {
    const bench = new DelegationBench({ onRunEnd: "detach" });
    const { answer } = await bench.call("x", { callId: "toolu_1" });
    bench.task.send(ACCEPTED, { type: "text", messageId: "m", delta: "Half" });
    await bench.clock.advance(0);
    await bench.run.close("the run ended", false);
    expect(await answer).toMatchObject({ status: "working", delegation_id: "del-1", summary: "Half" });
    bench.task.send({ type: "completed", message: "Whole." });
    await bench.clock.advance(0);
    expect(bench.terminal?.type).toBe("subagent.finished");
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("links to files for a delegation that never begins", () => {
  it("are revoked, and none is made when one of the files is not there", async () => {
    const links = new ArtifactLinks("https://host.example/shared/");
    const issued: string[] = [];
    const issue = links.issue.bind(links);
    links.issue = (...args) => {
      const url = issue(...args);
      issued.push(url.slice(url.lastIndexOf("/") + 1));
      return url;
    };
    const bench = new DelegationBench({ inputArtifacts: "reference" }, { links });
    const first = await bench.call();
    const bytes = Buffer.from("bytes");
    bench.task.send(ACCEPTED, {
      type: "artifact",
      chunk: { id: "a", name: "a.txt", mimeType: "text/plain", mode: "replace", bytes, last: true },
    });
    bench.task.send({ type: "completed" });
    await bench.clock.advance(0);
    expect(await first.answer).toMatchObject({ status: "completed" });
    const uri = "host://delegations/del-1/artifacts/a.txt";
    const ask = (...uris: string[]) => {
      const artifacts = uris.map((each) => ({ name: "a.txt", uri: each }));
      const input = { agent: "research", objective: "x", input: { artifacts } };
      return refusal(bench.run.delegate(input, { tool: "t", input }));
    };
    expect(await ask(`${uri}.not`, uri)).toMatchObject({ code: "invalid_input" });
    expect(issued).toEqual([]);
    bench.remote.onDescribe = async () => {
      await bench.run.close("the run ended");
      throw new TroupeError("agent_unavailable", "gone");
    };
    expect(await ask(uri)).toBeInstanceOf(TroupeError);
    expect(issued).toHaveLength(1);
    expect(issued.map((token) => links.find(token))).toEqual([undefined]);
  });
});
