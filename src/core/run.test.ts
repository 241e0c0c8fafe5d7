import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { deferred, settle } from "../../test/support/deferred.js";
import {
  agentOf,
  complete,
  expectWellFormed,
  FINISHED,
  say,
  start,
  typesOf,
  untilAborted,
} from "../../test/support/fake-agent.js";
import { ManualClock } from "../testing/manual-clock.js";
import type { DriverSink } from "./driver.js";
import { TroupeError } from "./errors.js";
import type { Run } from "./run.js";
import type { DriverEvent, RunEvent } from "./run-event.js";
import type { RunAttachment } from "./run-service.js";

describe("the grammar of a run's events", () => {
  it("has exactly one run.started first and one terminal last, and tells who said what", async () => {
    const { events, result } = await complete(
      start((sink) => {
        say(sink, "Hi.");
        return FINISHED;
      }),
    );
    expect(typesOf(events)).toEqual(["run.started", "text.start", "text.delta", "text.end", "run.finished"]);
    expect(events[0]).toMatchObject({ agent: "fake", messages: [{ text: "Hello" }] });
    expect(events.at(-1)).toEqual({ type: "run.finished", text: "Hi." });
    expect(result).toMatchObject({ text: "Hi.", summary: "Hi." });
  });

  it("closes texts and calls that a program left open, before the terminal event", async () => {
    const { events } = await complete(
      start((sink) => {
        sink.emit({ type: "tool.start", toolCallId: "a", name: "Bash" });
        sink.emit({ type: "tool.start", toolCallId: "b", name: "Bash" });
        sink.emit({ type: "tool.end", toolCallId: "b" });
        sink.emit({ type: "reasoning.start", messageId: "r" });
        sink.emit({ type: "text.start", messageId: "n", parentToolCallId: "b" });
        return FINISHED;
      }),
    );
    expectWellFormed(events);
    expect(events.slice(-6, -1)).toEqual([
      { type: "reasoning.end", messageId: "r" },
      { type: "text.end", messageId: "n", parentToolCallId: "b" },
      { type: "tool.end", toolCallId: "a" },
      expect.objectContaining({ type: "tool.result", toolCallId: "a", isError: true, synthetic: true }),
      expect.objectContaining({ type: "tool.result", toolCallId: "b", isError: true, synthetic: true }),
    ]);
  });

  it("drops what a program emits after the end", async () => {
    let late: DriverSink | undefined;
    const run = start((sink) => {
      late = sink;
      return FINISHED;
    });
    const { events } = await complete(run);
    late?.emit({ type: "text.start", messageId: "late" });
    expect(typesOf(events)).toEqual(["run.started", "run.finished"]);
    expect((await run.result).text).toBe("");
  });

  const id = fc.constantFrom("1", "2", "3");
  const nested = fc.option(fc.constantFrom("1", "2"), { nil: undefined });
  const driverEvent: fc.Arbitrary<DriverEvent> = fc.oneof(
    fc
      .record({
        type: fc.constantFrom("text.start" as const, "text.end" as const, "reasoning.start" as const),
        messageId: id,
        parent: nested,
      })
      .map(({ parent, ...rest }) => (parent === undefined ? rest : { ...rest, parentToolCallId: parent })),
    fc.record({ type: fc.constantFrom("reasoning.end" as const), messageId: id }),
    fc.record({
      type: fc.constantFrom("text.delta" as const, "reasoning.delta" as const),
      messageId: id,
      delta: fc.string({ maxLength: 4 }),
    }),
    fc.record({ type: fc.constant("tool.start" as const), toolCallId: id, name: fc.constant("Bash") }),
    fc.record({ type: fc.constant("tool.args" as const), toolCallId: id, delta: fc.constant("{}") }),
    fc.record({ type: fc.constant("tool.end" as const), toolCallId: id }),
    fc.record({
      type: fc.constant("tool.result" as const),
      toolCallId: id,
      content: fc.constant("ok"),
      isError: fc.boolean(),
    }),
    fc.record({ type: fc.constant("usage" as const), usage: fc.record({ inputTokens: fc.nat() }) }),
  );
  const end: fc.Arbitrary<"finished" | "failed" | "cancelled" | "throw"> = fc.constantFrom(
    "finished",
    "failed",
    "cancelled",
    "throw",
  );

  it("property: whatever a driver emits or throws, the stream is well formed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(driverEvent, { maxLength: 40 }),
        end,
        fc.option(fc.nat(40), { nil: undefined }),
        async (script, ending, cancelAt) => {
          const emitted: RunEvent[] = [];
          let cancelled = false;
          const run: Run = agentOf((sink) => {
            script.forEach((event, index) => {
              if (index === cancelAt) {
                cancelled = true;
                void run.cancel();
              }
              sink.emit(event);
            });
            if (ending === "throw") throw new Error("driver bug");
            return { status: ending };
          }).agent.run("Go", { onEvent: (event) => emitted.push(event) });
          await run.result.catch(() => undefined);
          expectWellFormed(emitted);
          if (cancelled) expect(emitted.at(-1)?.type).toBe("run.cancelled");
          else if (ending === "throw") expect(emitted.at(-1)?.type).toBe("run.failed");
          else expect(emitted.at(-1)?.type).toBe(`run.${ending}`);
          // What has no order is never dropped.
          expect(emitted.filter(({ type }) => type === "usage")).toEqual(
            script.filter(({ type }) => type === "usage"),
          );
        },
      ),
    );
  });
});

describe("cancelling", () => {
  it("before the start: no program is started", async () => {
    const { agent, requests } = agentOf(() => FINISHED);
    const { events, error } = await complete(agent.run("Hello", { signal: AbortSignal.abort() }));
    expect(requests).toEqual([]);
    expect(typesOf(events)).toEqual(["run.started", "run.cancelled"]);
    expect(error).toMatchObject({ code: "cancelled" });
  });

  it("in the middle: the driver's signal aborts with the reason; cancel resolves at the end", async () => {
    let reason: unknown;
    let gone = false;
    const run = start(async (sink, request) => {
      say(sink, "Half a");
      await untilAborted(request);
      reason = request.signal.reason;
      await settle();
      gone = true;
      return { status: "cancelled" };
    });
    await settle();
    const first = run.cancel("the user pressed stop");
    await Promise.all([first, run.cancel("again")]);
    expect(gone).toBe(true);
    expect(reason).toBe("the user pressed stop");
    const { events, error } = await complete(run);
    expect(events.at(-1)).toEqual({ type: "run.cancelled", reason: "the user pressed stop" });
    expect(error?.result.text).toBe("Half a");
  });

  it("through the caller's signal, whose listener is gone after the run", async () => {
    const controller = new AbortController();
    const run = start(
      async (_sink, request) => {
        await untilAborted(request);
        return { status: "failed" };
      },
      {},
      { signal: controller.signal },
    );
    controller.abort();
    expect((await complete(run)).events.at(-1)).toMatchObject({ type: "run.cancelled", reason: "aborted" });

    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    await complete(start(() => FINISHED, {}, { signal }));
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(
      add.mock.calls.map(([, listener]) => listener),
    );
  });

  it("after the end: changes nothing", async () => {
    const run = start(() => FINISHED);
    await run.result;
    await run.cancel();
    expect((await complete(run)).events.at(-1)?.type).toBe("run.finished");
  });

  it("case 034: wins over a failure that it caused", async () => {
    const run = start(async (_sink, request) => {
      await untilAborted(request);
      return { status: "failed", error: new TroupeError("program_died", "exit 143") };
    });
    await settle();
    await run.cancel();
    const { events, error } = await complete(run);
    expect(error?.code).toBe("cancelled");
    expect(events.at(-1)?.type).toBe("run.cancelled");
  });

  it("wins over a driver that throws because of it", async () => {
    const run = start(async (_sink, request) => {
      await untilAborted(request);
      throw new Error("aborted");
    });
    await settle();
    await run.cancel();
    expect((await complete(run)).error?.code).toBe("cancelled");
  });

  it("does not wait for a service that never attaches, and detaches what comes too late", async () => {
    const attached = deferred<RunAttachment>();
    const detach = vi.fn(async () => undefined);
    const { agent, requests } = agentOf(() => FINISHED, {
      services: [{ name: "slow", attach: () => attached.promise }],
    });
    const run = agent.run("Hello");
    await settle();
    await run.cancel();
    expect(requests).toEqual([]);
    attached.resolve({ detach });
    await settle();
    expect(detach).toHaveBeenCalledExactlyOnceWith("cancelled");
  });
});

describe("how a run ends", () => {
  it("case 118: RunError carries what was produced before the failure", async () => {
    const { error, events } = await complete(
      start((sink) => {
        say(sink, "Found the bug.");
        sink.raw("stderr", "boom");
        sink.emit({ type: "usage", usage: { outputTokens: 7 } });
        return {
          status: "failed",
          error: new TroupeError("model_error", "overloaded", { retryable: true }),
          terminal: { subtype: "error" },
        };
      }),
    );
    expect(error).toBeInstanceOf(TroupeError);
    expect(error).toMatchObject({ name: "RunError", code: "model_error", retryable: true });
    expect(error?.result).toMatchObject({
      text: "Found the bug.",
      usage: { outputTokens: 7 },
      raw: { stdout: "", stderr: "boom", terminal: { subtype: "error" } },
      transcript: [{ type: "text", messageId: "m1", text: "Found the bug." }],
    });
    expect(events.at(-1)).toEqual({
      type: "run.failed",
      error: { code: "model_error", message: "overloaded", retryable: true },
      usage: { outputTokens: 7 },
    });
  });

  it("a driver's exception is an internal error, capped, and never a stack", async () => {
    const { error } = await complete(
      start(() => {
        throw new Error("x".repeat(10_000));
      }),
    );
    expect(error?.code).toBe("internal");
    expect(error?.message.length).toBeLessThanOrEqual(501);
  });

  it("a program that fails or stops without saying why still gets an error", async () => {
    expect((await complete(start(() => ({ status: "failed" })))).error?.code).toBe("internal");
    const interrupted = await complete(start(() => ({ status: "cancelled" })));
    expect(interrupted.error).toMatchObject({ code: "cancelled", message: "The agent was interrupted." });
  });

  it("awaiting the result without reading events is enough, and an unread failure is no unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    expect(
      (
        await start((sink) => {
          say(sink, "Hi.");
          return FINISHED;
        }).result
      ).text,
    ).toBe("Hi.");
    start(() => ({ status: "failed" }));
    await settle();
    await settle();
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("the program's own closing text is the summary; all that it said is the text", async () => {
    const { result } = await complete(
      start((sink) => {
        say(sink, "One.", "a");
        say(sink, "Two.", "b");
        return { status: "finished", text: "In short: two." };
      }),
    );
    expect(result).toMatchObject({ text: "One.\n\nTwo.", summary: "In short: two." });
  });

  it("measures with the clock it was given", async () => {
    const clock = new ManualClock();
    const run = start(
      async () => {
        await clock.advance(1_500);
        return FINISHED;
      },
      { clock },
    );
    expect((await run.result).durationMs).toBe(1_500);
  });
});
