import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { type Correlation, Correlator, type IncomingCall } from "./correlation.js";

const GRACE = 250;

function setup() {
  const clock = new ManualClock();
  const correlator = new Correlator(clock, GRACE);
  const opens = (toolCallId: string, input: unknown, tool = "delegate_to_agent") => {
    correlator.observe({ type: "tool.start", toolCallId, name: `mcp__x__${tool}`, server: "x", tool });
    const json = JSON.stringify(input);
    correlator.observe({ type: "tool.args", toolCallId, delta: json.slice(0, 5) });
    correlator.observe({ type: "tool.args", toolCallId, delta: json.slice(5) });
    correlator.observe({ type: "tool.end", toolCallId });
  };
  const arrives = (input: unknown, callId?: string) => {
    const call: IncomingCall = {
      tool: "delegate_to_agent",
      input,
      ...(callId === undefined ? {} : { callId }),
    };
    const late = vi.fn();
    return { call, late, answer: correlator.correlate(call, late) };
  };
  return { clock, correlator, opens, arrives };
}

const INPUT = { agent: "research", objective: "A" };

describe("a call with the program's own id is strong", () => {
  it("whichever side comes first", async () => {
    const { clock, opens, arrives } = setup();
    opens("toolu_1", INPUT);
    expect(await arrives(INPUT, "toolu_1").answer).toEqual({ toolCallId: "toolu_1", level: "strong" });
    const early = arrives(INPUT, "toolu_2");
    opens("toolu_2", INPUT);
    expect(await early.answer).toEqual({ toolCallId: "toolu_2", level: "strong" });
    expect(clock.pending).toBe(0);
  });

  it("already when the call begins, before its arguments are complete", async () => {
    const { correlator, arrives } = setup();
    const early = arrives(INPUT, "toolu_1");
    correlator.observe({ type: "tool.start", toolCallId: "toolu_1", name: "x" });
    expect(await early.answer).toMatchObject({ level: "strong" });
  });

  it("after the grace, even if the parent's events never show it", async () => {
    const { clock, arrives } = setup();
    const alone = arrives(INPUT, "toolu_1");
    await clock.advance(GRACE);
    expect(await alone.answer).toEqual({ toolCallId: "toolu_1", level: "strong" });
  });

  it("and its call is nobody else's, also when it shows up late", async () => {
    const { clock, opens, arrives } = setup();
    const named = arrives(INPUT, "toolu_1");
    await clock.advance(GRACE);
    await named.answer;
    opens("toolu_1", INPUT);
    const other = arrives(INPUT);
    await clock.advance(GRACE);
    expect(await other.answer).toEqual({ level: "none" });
  });
});

describe("case 110: a call without an id is found by tool and arguments (medium)", () => {
  it("whichever side comes first, whatever the order of keys and the pieces of JSON", async () => {
    const { opens, arrives } = setup();
    opens("toolu_1", { objective: "A", input: { prompt: "p", context: "c" }, agent: "research" });
    const call = { agent: "research", objective: "A", input: { context: "c", prompt: "p" } };
    expect(await arrives(call).answer).toEqual({ toolCallId: "toolu_1", level: "medium" });
    const early = arrives({ ...call, objective: "B" });
    opens("toolu_2", { ...call, objective: "B" });
    expect(await early.answer).toEqual({ toolCallId: "toolu_2", level: "medium" });
  });

  it("not by a call of another tool, with other arguments, or whose arguments are not JSON", async () => {
    const { clock, correlator, opens, arrives } = setup();
    opens("toolu_1", INPUT, "Bash");
    opens("toolu_2", { ...INPUT, objective: "B" });
    correlator.observe({ type: "tool.start", toolCallId: "toolu_3", name: "delegate_to_agent" });
    correlator.observe({ type: "tool.args", toolCallId: "toolu_3", delta: '{"agent":' });
    correlator.observe({ type: "tool.end", toolCallId: "toolu_3" });
    const call = arrives(INPUT);
    await clock.advance(GRACE);
    expect(await call.answer).toEqual({ level: "none" });
  });

  it("no arguments are the same as an empty object", async () => {
    const { correlator, arrives } = setup();
    correlator.observe({ type: "tool.start", toolCallId: "toolu_1", name: "delegate_to_agent" });
    correlator.observe({ type: "tool.end", toolCallId: "toolu_1" });
    expect(await arrives({}).answer).toMatchObject({ toolCallId: "toolu_1" });
  });

  it("S1 21: two equal calls are ambiguous: nothing is guessed", async () => {
    const { clock, opens, arrives } = setup();
    opens("toolu_1", INPUT);
    opens("toolu_2", INPUT);
    const first = arrives(INPUT);
    const second = arrives(INPUT);
    await clock.advance(GRACE);
    expect([await first.answer, await second.answer]).toEqual([{ level: "none" }, { level: "none" }]);
    expect(first.late).not.toHaveBeenCalled();
  });

  it("nor is anything guessed while only one of two equal calls is seen", async () => {
    const { clock, opens, arrives } = setup();
    const first = arrives(INPUT);
    const second = arrives(INPUT);
    opens("toolu_1", INPUT);
    await clock.advance(GRACE);
    expect([await first.answer, await second.answer]).toEqual([{ level: "none" }, { level: "none" }]);
    expect([first.late.mock.calls, second.late.mock.calls]).toEqual([[], []]);
  });

  it("what was ambiguous is told late, once, when it no longer is", async () => {
    const { clock, correlator, opens, arrives } = setup();
    const first = arrives(INPUT);
    const second = arrives(INPUT);
    await clock.advance(GRACE);
    correlator.forget(second.call);
    opens("toolu_1", INPUT);
    opens("toolu_2", { ...INPUT, objective: "B" });
    expect(first.late.mock.calls).toEqual([[{ toolCallId: "toolu_1", level: "medium" }]]);
    expect(await first.answer).toEqual({ level: "none" });
    expect(second.late).not.toHaveBeenCalled();
  });

  it("a call that is over is no candidate any more", async () => {
    const { clock, correlator, opens, arrives } = setup();
    opens("toolu_1", INPUT);
    correlator.observe({ type: "tool.result", toolCallId: "toolu_1", content: "", isError: false });
    const call = arrives(INPUT);
    await clock.advance(GRACE);
    expect(await call.answer).toEqual({ level: "none" });
  });

  it("closing answers those who wait, and leaves no timer", async () => {
    const { clock, correlator, arrives } = setup();
    const call = arrives(INPUT);
    correlator.close();
    expect(await call.answer).toEqual({ level: "none" });
    expect(clock.pending).toBe(0);
  });
});

describe("property: over all interleavings of the two channels", () => {
  type Action = "start" | "end" | "call" | "result";
  /** The steps of each call in their possible orders: the parent's events are in order, the MCP call comes at any moment. */
  const orders: Action[][] = [
    ["start", "end", "call", "result"],
    ["start", "call", "end", "result"],
    ["call", "start", "end", "result"],
  ];
  const plan = fc.record({
    ids: fc.boolean(),
    calls: fc.array(
      fc.record({ objective: fc.constantFrom("A", "B", "C"), order: fc.constantFrom(...orders) }),
      { minLength: 1, maxLength: 5 },
    ),
    picks: fc.array(fc.nat(4), { minLength: 20, maxLength: 20 }),
    pauses: fc.array(fc.constantFrom(0, 0, 0, 100, 300), { minLength: 20, maxLength: 20 }),
  });

  it("a delegation is never put under a wrong call, and one that is unique is always found", async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ ids, calls, picks, pauses }) => {
        const clock = new ManualClock();
        const correlator = new Correlator(clock, GRACE);
        const found = calls.map((): Correlation[] => []);
        const left = calls.map(({ order }) => [...order]);
        const incoming = calls.map(
          ({ objective }, index): IncomingCall => ({
            tool: "delegate_to_agent",
            input: { objective },
            ...(ids ? { callId: `toolu_${index}` } : {}),
          }),
        );
        const act = async (index: number, action: Action | undefined) => {
          const toolCallId = `toolu_${index}`;
          const objective = calls[index]?.objective;
          const call = incoming[index];
          if (call === undefined) return;
          if (action === "start")
            correlator.observe({ type: "tool.start", toolCallId, name: "delegate_to_agent" });
          if (action === "end") {
            correlator.observe({ type: "tool.args", toolCallId, delta: JSON.stringify({ objective }) });
            correlator.observe({ type: "tool.end", toolCallId });
          }
          if (action === "call")
            void correlator
              .correlate(call, (late) => found[index]?.push(late))
              .then((first) => found[index]?.unshift(first));
          if (action === "result") {
            // No call has a result before it was started, which is after its correlation was answered.
            if (found[index]?.length === 0) await clock.advance(GRACE);
            correlator.forget(call);
            correlator.observe({ type: "tool.result", toolCallId, content: "", isError: false });
          }
        };
        for (let step = 0; left.some((actions) => actions.length > 0); step++) {
          const open = left.flatMap((actions, index) => (actions.length > 0 ? [index] : []));
          const index = open[(picks[step % picks.length] ?? 0) % open.length] ?? 0;
          await act(index, left[index]?.shift());
          await clock.advance(pauses[step % pauses.length] ?? 0);
        }
        correlator.close();
        await clock.advance(0);
        const assigned = found.map((correlations) =>
          correlations.flatMap(({ toolCallId }) => toolCallId ?? []),
        );
        const all = assigned.flat();
        expect(new Set(all).size).toBe(all.length);
        calls.forEach(({ objective }, index) => {
          expect(found[index]?.length).toBeLessThanOrEqual(2);
          expect(assigned[index]?.length).toBeLessThanOrEqual(1);
          const unique = calls.filter((other) => other.objective === objective).length === 1;
          if (ids) expect(assigned[index]).toEqual([`toolu_${index}`]);
          else if (unique) expect(assigned[index]).toEqual([`toolu_${index}`]);
          else
            for (const id of assigned[index] ?? [])
              expect(calls[Number(id.slice(6))]?.objective).toBe(objective);
        });
        expect(clock.pending).toBe(0);
      }),
    );
  });
});
