import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deferred } from "../../test/support/deferred.js";
import { DelegationBench } from "../../test/support/delegations.js";
import { TroupeError } from "../core/errors.js";
import { isSubagentTerminal } from "./events.js";
import type { RemoteCancelAnswer, RemoteSignal } from "./remote.js";

const ACCEPTED = { type: "accepted", taskId: "task-1", contextId: "ctx-1" } as const;
const NOTHING = { timers: 0, permits: 0 };
const chunk = (id: string): RemoteSignal => ({
  type: "artifact",
  chunk: { id, name: id, mode: "append", bytes: Buffer.from("bytes"), last: false },
});

const unhandled = vi.fn();
beforeEach(() => void process.on("unhandledRejection", unhandled));
afterEach(() => {
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

describe("a deadline", () => {
  it("case 102: ends the delegation by the host's own timer, and cancels the task", async () => {
    const bench = new DelegationBench({ maxTimeoutMs: 60_000 });
    const { answer } = await bench.call("x", { constraints: { timeout_seconds: 30 } });
    bench.task.send(ACCEPTED, { type: "text", messageId: "m", delta: "Half" });
    await bench.clock.advance(29_999);
    expect(bench.remote.cancels).toEqual([]);
    await bench.clock.advance(1);
    expect(await answer).toMatchObject({
      status: "failed",
      summary: "Half",
      error: { code: "remote_timeout", retryable: true, message: expect.stringContaining("30 s") },
    });
    expect(bench.terminal?.type).toBe("subagent.failed");
    expect(bench.remote.cancels).toHaveLength(1);
    expect(bench.left).toEqual(NOTHING);
  });

  it("a user's cancel while the deadline's cancel is under way is what is told", async () => {
    const bench = new DelegationBench({ maxTimeoutMs: 1_000 });
    const cancelling = deferred<RemoteCancelAnswer>();
    bench.remote.onCancel = () => cancelling.promise;
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(1_000);
    bench.delegator.cancel("del-1", "user");
    cancelling.resolve({ outcome: "cancelled" });
    expect(await answer).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(bench.terminal).toMatchObject({ type: "subagent.cancelled", reason: "user" });
    expect(bench.remote.cancels).toHaveLength(1);
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("cancelling at the remote", () => {
  it("waits for the task's id when it is not known yet: without it nothing can be cancelled", async () => {
    const bench = new DelegationBench();
    const { answer } = await bench.call();
    bench.delegator.cancel("del-1", "user");
    await bench.clock.advance(1_900);
    expect(bench.remote.cancels).toEqual([]);
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    expect(bench.remote.cancels).toMatchObject([
      { reference: { taskId: "task-1", contextId: "ctx-1" }, delegationId: "del-1", reason: "user" },
    ]);
    expect(await answer).toMatchObject({ status: "cancelled" });
    expect(bench.left).toEqual(NOTHING);
  });

  it("an id that never comes: the stream is closed, and that is the end", async () => {
    const bench = new DelegationBench();
    const { answer } = await bench.call();
    bench.delegator.cancel("del-1", "user");
    await bench.clock.advance(2_000);
    expect(await answer).toMatchObject({ status: "cancelled" });
    expect(bench.remote.cancels).toEqual([]);
    expect(bench.task.signal.aborted).toBe(true);
    expect(bench.task.returned).toBe(true);
    expect(bench.types()).toEqual(["started", "status", "cancelled"]);
    // Whether it ever began is not known, so nothing is claimed.
    expect(bench.events.at(-1)).toMatchObject({ type: "subagent.cancelled", confirmed: false });
    expect(bench.left).toEqual(NOTHING);
  });

  it("the stream stays open meanwhile and may bring the end first; the first answer counts", async () => {
    const bench = new DelegationBench();
    const cancelling = deferred<RemoteCancelAnswer>();
    bench.remote.onCancel = () => cancelling.promise;
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    bench.delegator.cancel("del-1", "user");
    expect(bench.task.signal.aborted).toBe(false);
    bench.task.send({ type: "completed" });
    expect(await answer).toMatchObject({ status: "cancelled" });
    cancelling.resolve({ outcome: "pending", detail: "late" });
    await bench.clock.advance(0);
    expect(bench.terminal).toMatchObject({ type: "subagent.cancelled", confirmed: true });
    expect(bench.types().filter((type) => type === "status")).toEqual([]);
    expect(bench.left).toEqual(NOTHING);
  });

  it("S1 21: a remote that never answers is given up in time, told as cancel_pending, and looked after", async () => {
    const bench = new DelegationBench({ cancelTimeoutMs: 5_000, cancelWatchMs: 60_000 });
    bench.remote.onCancel = () => new Promise(() => undefined);
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    bench.delegator.cancel("del-1", "user");
    await bench.clock.advance(5_000);
    expect(await answer).toMatchObject({ status: "cancelled" });
    expect(bench.events.at(-1)).toMatchObject({ type: "subagent.status", status: "cancel_pending" });
    expect(bench.remote.cancels[0]?.signal.aborted).toBe(true);
    expect(bench.left.permits).toBe(1);
    await bench.clock.advance(500);
    expect(bench.remote.looks).toBe(1);
    bench.remote.onLook = async () => ({ over: true, remoteStatus: "canceled" });
    await bench.clock.advance(1_000);
    expect(bench.remote.looks).toBe(2);
    expect(bench.terminal).toMatchObject({ type: "subagent.cancelled", confirmed: true, reason: "user" });
    expect(bench.left).toEqual(NOTHING);
  });

  it("the watch has a bound of its own, whatever looking does: case 106", async () => {
    const looks = [
      () => new Promise<never>(() => undefined),
      () => Promise.reject(new Error("no")),
      async () => ({ over: false, remoteStatus: "working" }),
    ];
    for (const look of looks) {
      const bench = new DelegationBench({ cancelTimeoutMs: 1_000, cancelWatchMs: 20_000 });
      bench.remote.onCancel = async () => ({ outcome: "pending", detail: "" });
      bench.remote.onLook = look;
      await bench.call();
      bench.task.send(ACCEPTED);
      await bench.clock.advance(0);
      bench.delegator.cancel("del-1", "user");
      await bench.clock.advance(22_000);
      expect(bench.remote.looks).toBeGreaterThan(3);
      expect(bench.remote.looks).toBeLessThan(20);
      expect(bench.terminal).toMatchObject({ type: "subagent.cancelled", confirmed: false });
      expect(bench.left).toEqual(NOTHING);
    }
  });

  it("a cancel request that fails counts as not confirmed", async () => {
    const bench = new DelegationBench();
    bench.remote.onCancel = () => Promise.reject(new Error("bug"));
    await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    bench.delegator.cancel("del-1", "user");
    await bench.clock.advance(0);
    expect(bench.events.at(-1)).toMatchObject({ status: "cancel_pending" });
    await bench.clock.advance(70_000);
    expect(bench.left).toEqual(NOTHING);
  });

  it("a host that closes stops watching", async () => {
    const bench = new DelegationBench();
    bench.remote.onCancel = async () => ({ outcome: "pending", detail: "" });
    await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    await bench.run.close("the host is closing");
    await bench.delegator.close("the host is closing");
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("the caller", () => {
  it("cancels when it takes the call back, not when the call was answered", async () => {
    const bench = new DelegationBench();
    const controller = new AbortController();
    const { answer } = await bench.call("x", { cancelled: controller.signal });
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    controller.abort();
    expect(await answer).toMatchObject({ status: "cancelled" });

    const after = new AbortController();
    const second = await bench.call("x", { cancelled: after.signal });
    bench.task.send(ACCEPTED, { type: "completed", message: "42" });
    await second.answer;
    after.abort();
    await bench.clock.advance(0);
    expect(bench.terminal?.type).toBe("subagent.finished");
    expect(bench.remote.cancels).toHaveLength(1);
  });

  it("that was gone before it started cancels as well", async () => {
    const bench = new DelegationBench();
    const { answer } = await bench.call("x", { cancelled: AbortSignal.abort() });
    bench.task.send(ACCEPTED);
    expect(await answer).toMatchObject({ status: "cancelled" });
    expect(bench.remote.cancels).toHaveLength(1);
  });

  it("is answered only when what a person saw is in the journal", async () => {
    const recorded = deferred();
    const bench = new DelegationBench({}, { record: () => recorded.promise });
    const answered = vi.fn();
    void (await bench.call()).answer.then(answered);
    bench.task.send({ type: "completed", message: "42" });
    await bench.clock.advance(0);
    expect(answered).not.toHaveBeenCalled();
    recorded.resolve();
    await bench.clock.advance(0);
    expect(answered).toHaveBeenCalledOnce();
  });
});

describe("what goes wrong", () => {
  it("case 035: a stream that ends without a final state is stream_interrupted, and the task is cancelled", async () => {
    const bench = new DelegationBench();
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED, chunk("a"));
    bench.task.end();
    expect(await answer).toMatchObject({
      error: { code: "stream_interrupted", retryable: true },
      artifacts: [{ id: "a", size: 5 }],
    });
    expect(bench.remote.cancels).toHaveLength(1);
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });

  it("an adapter that throws ends the delegation, with its own code when it has one", async () => {
    const logged: unknown[] = [];
    const bench = new DelegationBench({}, { onError: (error) => logged.push(error) });
    const bug = new Error("ENOENT /home/secret/file");
    for (const [error, code, message] of [
      [bug, "internal", "The host failed. Its log says why."],
      [new TroupeError("agent_unavailable", "gone", { retryable: true }), "agent_unavailable", "gone"],
    ] as const) {
      const { answer } = await bench.call();
      bench.task.send(ACCEPTED);
      bench.task.throw(error);
      expect(await answer).toMatchObject({ status: "failed", error: { code, message } });
      await bench.clock.advance(0);
      expect(bench.left).toEqual(NOTHING);
    }
    expect(logged).toEqual([bug]);
    expect(JSON.stringify(bench.events)).not.toContain("secret");
  });

  it("also when it throws at once", async () => {
    const bench = new DelegationBench();
    bench.remote.onStart = () => {
      throw new Error("bug");
    };
    const { answer } = await bench.call();
    expect(await answer).toMatchObject({ error: { code: "internal" } });
    await bench.clock.advance(0);
    expect(bench.types()).toEqual(["started", "failed"]);
    expect(bench.left).toEqual(NOTHING);
  });

  it("an artifact store that fails ends it once, as internal, and the task is cancelled", async () => {
    const artifacts = { put: () => Promise.reject(new Error("disk full")), get: async () => undefined };
    for (const signals of [[{ type: "completed" }], []] as RemoteSignal[][]) {
      const bench = new DelegationBench({}, { artifacts });
      const { answer } = await bench.call();
      bench.task.send(ACCEPTED, chunk("a"), ...signals);
      bench.task.end();
      expect(await answer).toMatchObject({ status: "failed", error: { code: "internal" } });
      await bench.clock.advance(0);
      expect(bench.events.filter(isSubagentTerminal)).toHaveLength(1);
      expect(bench.remote.cancels).toHaveLength(1);
      expect(bench.left).toEqual(NOTHING);
    }
  });

  it("a journal that fails neither keeps the answer nor the permit, and no rejection escapes", async () => {
    const bench = new DelegationBench({}, { record: () => Promise.reject(new Error("database is locked")) });
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED, { type: "text", messageId: "m", delta: "42" }, { type: "completed" });
    expect(await answer).toMatchObject({ status: "completed", summary: "42" });
    await bench.clock.advance(0);
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("property", () => {
  const signal: fc.Arbitrary<RemoteSignal> = fc.oneof(
    { weight: 2, arbitrary: fc.constant(ACCEPTED) },
    fc.constantFrom<RemoteSignal>(
      { type: "status", status: "working" },
      { type: "text", messageId: "m", delta: "x" },
      { type: "tool.start", toolCallId: "t", name: "search" },
      chunk("a"),
      chunk("b"),
      { type: "input_required" },
      { type: "completed", message: "Done." },
      { type: "failed" },
      { type: "rejected" },
      { type: "cancelled" },
      { type: "disconnected", message: "reset" },
    ),
  );
  type Action =
    | { readonly do: "send"; readonly signal: RemoteSignal }
    | { readonly do: "advance"; readonly ms: number }
    | { readonly do: "cancel" | "end" | "throw" | "close" };
  const action: fc.Arbitrary<Action> = fc.oneof(
    { weight: 6, arbitrary: signal.map((what) => ({ do: "send" as const, signal: what })) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(100, 300, 2_000, 6_000).map((ms) => ({ do: "advance" as const, ms })),
    },
    fc.constantFrom<Action>({ do: "cancel" }, { do: "end" }, { do: "throw" }, { do: "close" }),
  );
  const cancelAnswer = fc.constantFrom<RemoteCancelAnswer | "never" | "throws">(
    { outcome: "cancelled" },
    { outcome: "already_over", remoteStatus: "completed" },
    { outcome: "pending", detail: "" },
    "never",
    "throws",
  );

  it("whatever a remote, its answers, time and people do: one terminal event, one answer, and nothing is left", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 12 }),
        cancelAnswer,
        fc.boolean(),
        async (actions, cancels, over) => {
          const bench = new DelegationBench({
            maxTimeoutMs: 10_000,
            cancelTimeoutMs: 1_000,
            cancelWatchMs: 5_000,
          });
          bench.remote.onCancel = () => {
            if (cancels === "never") return new Promise(() => undefined);
            return cancels === "throws" ? Promise.reject(new Error("bug")) : Promise.resolve(cancels);
          };
          bench.remote.onLook = async () => ({ over, remoteStatus: "canceled" });
          const { answer } = await bench.call();
          const answered = vi.fn();
          void answer.then(answered);
          const closing: Promise<void>[] = [];
          for (const step of actions) {
            if (step.do === "send") bench.task.send(step.signal);
            else if (step.do === "advance") await bench.clock.advance(step.ms);
            else if (step.do === "cancel") bench.delegator.cancel("del-1", "user");
            else if (step.do === "end") bench.task.end();
            else if (step.do === "throw") bench.task.throw(new Error("bug"));
            else closing.push(bench.run.close("the run ended"));
          }
          await bench.clock.advance(20_000);
          await Promise.all(closing);
          expect(bench.events[0]?.type).toBe("subagent.started");
          expect(bench.events.filter(isSubagentTerminal)).toHaveLength(1);
          expect(isSubagentTerminal(bench.events.at(-1) ?? { type: "" })).toBe(true);
          expect(answered).toHaveBeenCalledOnce();
          expect(bench.left).toEqual(NOTHING);
        },
      ),
    );
  });
});

describe("a remote that says nothing", () => {
  it("ends as a time-out after the policy's idle time, and its task is cancelled", async () => {
    const bench = new DelegationBench({ idleTimeoutMs: 60_000 });
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(50_000);
    bench.task.send({ type: "status", status: "working", message: "still there" });
    await bench.clock.advance(50_000);
    expect(bench.types()).not.toContain("failed");
    await bench.clock.advance(10_000);
    expect(await answer).toMatchObject({
      status: "failed",
      error: { code: "remote_timeout", retryable: true },
    });
    expect(bench.remote.cancels).toHaveLength(1);
    expect(bench.left).toEqual(NOTHING);
  });

  it("but not while it waits for an answer", async () => {
    const bench = new DelegationBench({ idleTimeoutMs: 60_000, inputTimeoutMs: 200_000 });
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED, { type: "input_required", prompt: "Which?" });
    await bench.clock.advance(150_000);
    expect(bench.types()).toEqual(["started", "input_required"]);
    await bench.clock.advance(50_000);
    expect(await answer).toMatchObject({ status: "failed", error: { code: "input_required" } });
    expect(bench.types()).toEqual(["started", "input_required", "input_resolved", "failed"]);
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("a remote that asks", () => {
  it("gets the answer once, and the delegation goes on; the second answer is told that nothing is asked", async () => {
    const bench = new DelegationBench();
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED, { type: "input_required", prompt: "Which?", schema: { type: "object" } });
    await bench.clock.advance(0);
    const answering = deferred();
    const taken: unknown[] = [];
    Object.assign(bench.remote, {
      answer: async (reference: unknown, input: unknown) => {
        taken.push([reference, input]);
        await answering.promise;
      },
    });
    const first = bench.delegator.reply("del-1", { text: "the blue one" });
    await expect(bench.delegator.reply("del-1", { text: "the red one" })).rejects.toMatchObject({
      code: "nothing_asked",
    });
    answering.resolve();
    await first;
    expect(taken).toEqual([
      [{ taskId: "task-1", contextId: "ctx-1", run: { runId: "run-1" } }, { text: "the blue one" }],
    ]);
    bench.task.send({ type: "completed", message: "Blue it is." });
    expect(await answer).toMatchObject({ status: "completed", summary: "Blue it is." });
    expect(bench.types()).toEqual(["started", "input_required", "input_resolved", "finished"]);
    expect(bench.events[2]).toMatchObject({ by: "person" });
    await expect(bench.delegator.reply("del-1", { text: "late" })).rejects.toMatchObject({
      code: "nothing_asked",
    });
  });

  it("an answer that the remote refuses leaves the question open", async () => {
    const bench = new DelegationBench();
    await bench.call();
    bench.task.send(ACCEPTED, { type: "input_required", prompt: "Which?" });
    await bench.clock.advance(0);
    Object.assign(bench.remote, { answer: async () => Promise.reject(new Error("no")) });
    await expect(bench.delegator.reply("del-1", { text: "x" })).rejects.toThrow("no");
    expect(bench.delegator.get("del-1")?.state.question?.prompt).toBe("Which?");
    Object.assign(bench.remote, { answer: async () => undefined });
    await bench.delegator.reply("del-1", { text: "y" });
    expect(bench.types().at(-1)).toBe("input_resolved");
  });

  it("by policy `return` the parent gets the question and answers it", async () => {
    const bench = new DelegationBench({ inputRequired: "return" });
    const { answer } = await bench.call();
    bench.task.send(
      ACCEPTED,
      { type: "text", messageId: "m", delta: "Before. " },
      { type: "input_required", prompt: "Which?", schema: { type: "object" } },
    );
    expect(await answer).toMatchObject({
      status: "needs_input",
      delegation_id: "del-1",
      input_request: { prompt: "Which?", schema: { type: "object" } },
    });
    Object.assign(bench.remote, { answer: async () => undefined });
    const rest = bench.run.reply("del-1", { data: { colour: "blue" } });
    await bench.clock.advance(0);
    bench.task.send({ type: "completed", message: "Blue it is." });
    expect(await rest).toMatchObject({ status: "completed" });
    expect(bench.events.find(({ type }) => type === "subagent.input_resolved")).toMatchObject({
      by: "parent",
    });
    expect(await bench.run.result("del-1")).toMatchObject({ status: "completed" });
  });
});

describe("parts that throw at once instead of failing later", () => {
  it("a remote's cancel and look: the delegation still comes to its end", async () => {
    const bench = new DelegationBench({ cancelWatchMs: 2_000 });
    const fail = () => {
      throw new Error("not even a promise");
    };
    bench.remote.cancel = fail;
    bench.remote.look = fail;
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(0);
    bench.delegator.cancel("del-1", "user");
    await bench.clock.advance(0);
    expect(await answer).toMatchObject({ status: "cancelled" });
    await bench.clock.advance(10_000);
    expect(bench.terminal).toMatchObject({ type: "subagent.cancelled", confirmed: false });
    expect(bench.left).toEqual(NOTHING);
  });

  it("a journal: the caller gets its result", async () => {
    const record = () => {
      throw new Error("the journal is closed");
    };
    const bench = new DelegationBench({}, { record });
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED, { type: "completed", message: "Done." });
    await bench.clock.advance(0);
    expect(await answer).toMatchObject({ status: "completed", summary: "Done." });
    expect(bench.left).toEqual(NOTHING);
  });
});

describe("a machine that was asleep", () => {
  it("is no silence of the remote", async () => {
    const bench = new DelegationBench({ idleTimeoutMs: 60_000 });
    const now = bench.clock.now.bind(bench.clock);
    const { answer } = await bench.call();
    bench.task.send(ACCEPTED);
    await bench.clock.advance(30_000);
    bench.clock.now = () => now() + 3_600_000;
    await bench.clock.advance(30_000);
    expect(bench.types()).not.toContain("failed");
    bench.task.send({ type: "completed", message: "Still there." });
    await bench.clock.advance(0);
    expect(await answer).toMatchObject({ status: "completed" });
    expect(bench.left).toEqual(NOTHING);
  });
});
