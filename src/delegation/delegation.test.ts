import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { artifactOf, delegationInputs, detachedInputs } from "../../test/support/delegation-inputs.js";
import { reduce } from "./delegation.js";
import {
  type DelegationEffect,
  type DelegationInput,
  type DelegationState,
  newDelegation,
  type StopCause,
} from "./delegation-state.js";
import { isSubagentTerminal, type SubagentEvent } from "./events.js";

function begin(identity: Partial<DelegationState["identity"]> = {}, maxResultBytes = 8_192): DelegationState {
  return newDelegation(
    {
      runId: "run-1",
      delegationId: "del-1",
      agentKey: "research",
      agentName: "Research",
      protocol: "a2a",
      ...identity,
    },
    { objective: "Find out", correlation: "none", maxResultBytes },
  );
}

interface Played {
  readonly state: DelegationState;
  readonly events: SubagentEvent[];
  readonly effects: DelegationEffect[];
  /** The effects of each step. */
  readonly steps: (readonly DelegationEffect[])[];
  /** Inputs that were taken before and with the end. */
  readonly taken: DelegationInput[];
}

function play(inputs: readonly DelegationInput[], state = begin()): Played {
  const played: Played = { state, events: [], effects: [], steps: [], taken: [] };
  for (const input of inputs) {
    if (state.phase !== "over") played.taken.push(input);
    const step = reduce(state, input);
    state = step.state;
    played.events.push(...step.events);
    played.effects.push(...step.effects);
    played.steps.push(step.effects);
  }
  return { ...played, state };
}

const typesOf = (events: readonly SubagentEvent[]) => events.map(({ type }) => type.replace("subagent.", ""));
const terminalOf = (events: readonly SubagentEvent[]) => events.find(isSubagentTerminal);
const stop = (cause: "cancel" | "deadline", reason: string = cause): DelegationInput => ({
  type: "stop",
  cause,
  reason,
});

describe("a delegation", () => {
  it("streams: started, text, artifact, end, finished; the answer is given with the end", () => {
    const { events, state, effects } = play([
      { type: "accepted", taskId: "task-1", contextId: "ctx-1" },
      { type: "status", status: "working" },
      { type: "text", messageId: "m", delta: "Hel" },
      { type: "text", messageId: "m", delta: "lo" },
      { type: "artifact_collected", artifact: artifactOf("a") },
      { type: "completed" },
    ]);
    expect(typesOf(events)).toEqual([
      "started",
      "status",
      "text.start",
      "text.delta",
      "text.delta",
      "artifact",
      "text.end",
      "finished",
    ]);
    expect(
      events.every(
        ({ remoteTaskId, remoteContextId }) => remoteTaskId === "task-1" && remoteContextId === "ctx-1",
      ),
    ).toBe(true);
    expect(state.answer).toMatchObject({
      status: "completed",
      summary: "Hello",
      remote_task_id: "task-1",
      artifacts: [{ id: "a" }],
    });
    expect(terminalOf(events)).toMatchObject({
      result: state.answer,
      sizes: { seen: 15, model: JSON.stringify(state.answer).length },
    });
    expect(effects).toEqual(["answer", "end"]);
  });

  it("S1 21: a terminal before anything else gets its started first", () => {
    expect(typesOf(play([{ type: "completed", message: "42" }]).events)).toEqual(["started", "finished"]);
    expect(typesOf(play([{ type: "rejected" }]).events)).toEqual(["started", "failed"]);
    expect(
      typesOf(play([stop("cancel"), { type: "cancel_answered", answer: { outcome: "cancelled" } }]).events),
    ).toEqual(["started", "cancelled"]);
  });

  it("S1 21: repeated terminals change nothing", () => {
    const once = play([{ type: "completed", message: "42" }]);
    const twice = play([
      { type: "completed", message: "42" },
      { type: "completed", message: "43" },
      { type: "failed" },
      stop("cancel"),
      { type: "text", messageId: "m", delta: "late" },
    ]);
    expect(twice).toEqual({ ...once, steps: [...once.steps, [], [], [], []] });
  });

  it("closing words are the summary when nothing was streamed, and a last status when something was", () => {
    expect(play([{ type: "completed", message: " Done. " }]).state.answer?.summary).toBe("Done.");
    const streamed = play([
      { type: "text", messageId: "m", delta: "The report." },
      { type: "completed", message: "Anything else?" },
    ]);
    expect(streamed.state.answer?.summary).toBe("The report.");
    expect(streamed.events.find(({ type }) => type === "subagent.status")).toMatchObject({
      message: "Anything else?",
    });
    // Case 052: the same words again are not told twice.
    const echoed = play([
      { type: "text", messageId: "m", delta: "The report." },
      { type: "completed", message: "The report." },
    ]);
    expect(typesOf(echoed.events)).not.toContain("status");
  });

  it("case 108: everything but completed is an error with the remote's own word", () => {
    const errorOf = (input: DelegationInput) => {
      const { events, state } = play([{ type: "accepted", taskId: "t" }, input]);
      return { event: terminalOf(events)?.type, status: state.answer?.status, ...state.answer?.error };
    };
    expect(errorOf({ type: "failed", message: "no" })).toMatchObject({
      event: "subagent.failed",
      status: "failed",
      code: "remote_failed",
      message: "no",
      remote_status: "failed",
    });
    expect(errorOf({ type: "rejected" })).toMatchObject({
      event: "subagent.failed",
      code: "remote_rejected",
      remote_status: "rejected",
    });
    expect(errorOf({ type: "cancelled" })).toMatchObject({
      event: "subagent.cancelled",
      status: "cancelled",
      code: "remote_cancelled",
      retryable: true,
    });
    expect(errorOf({ type: "disconnected", message: "reset" })).toMatchObject({
      event: "subagent.failed",
      code: "stream_interrupted",
      retryable: true,
    });
  });

  it("input that the host cannot give ends it as input_required and cancels the task", () => {
    const { state, effects } = play([
      { type: "accepted", taskId: "t" },
      { type: "input_required", prompt: "Which year?" },
      { type: "cancel_answered", answer: { outcome: "cancelled" } },
    ]);
    expect(effects).toEqual(["cancel_remote", "answer", "end"]);
    expect(state.answer?.error).toMatchObject({ code: "input_required", message: "Which year?" });
  });

  it("what the host itself ends, and a lost stream, cancel the task at the remote", () => {
    for (const input of [
      { type: "failed", code: "internal" },
      { type: "failed", code: "artifact_too_large" },
      { type: "disconnected", message: "x" },
    ] as const)
      expect(play([input]).effects).toEqual(["cancel_remote", "answer", "end"]);
    expect(play([{ type: "failed" }]).effects).toEqual(["answer", "end"]);
  });

  it("while a cancel is under way, neither a lost stream nor a failure of the host's own claims that the remote stopped", () => {
    for (const input of [
      { type: "failed", code: "internal" },
      { type: "disconnected", message: "x" },
    ] as const) {
      const pending = play([stop("cancel"), input]);
      expect(pending.state.phase).toBe("stopping");
      expect(pending.effects).toEqual(["cancel_remote"]);
      const { events } = play(
        [{ type: "cancel_answered", answer: undefined }, { type: "watch_ended" }],
        pending.state,
      );
      expect(terminalOf(events)).toMatchObject({ type: "subagent.cancelled", confirmed: false });
    }
  });

  it("an unconfirmed cancel answers the model at once, says cancel_pending, and is watched to its end", () => {
    const { events, effects, state } = play([
      { type: "text", messageId: "m", delta: "Half" },
      stop("cancel", "the user"),
      { type: "cancel_answered", answer: { outcome: "pending", detail: "busy" } },
    ]);
    expect(effects).toEqual(["cancel_remote", "answer", "watch_cancel"]);
    expect(events.at(-1)).toMatchObject({ type: "subagent.status", status: "cancel_pending" });
    expect(state.answer).toMatchObject({ status: "cancelled", summary: "Half" });
    const late = play([{ type: "watch_ended", remoteStatus: "canceled" }], state);
    expect(late.effects).toEqual(["end"]);
    expect(late.events.at(-1)).toMatchObject({
      type: "subagent.cancelled",
      reason: "the user",
      confirmed: true,
    });
    expect(late.state.answer).toBe(state.answer);
  });

  it("correlation that comes late is told once, and stays", () => {
    const { events, state } = play([
      { type: "show" },
      { type: "correlated", toolCallId: "toolu_1", correlation: "medium" },
      { type: "correlated", toolCallId: "toolu_2", correlation: "strong" },
      { type: "status", status: "working" },
    ]);
    expect(typesOf(events)).toEqual(["started", "correlated", "status"]);
    expect(events.map(({ parentToolCallId }) => parentToolCallId)).toEqual([undefined, "toolu_1", "toolu_1"]);
    expect(state.correlation).toBe("medium");
    const early = play([
      { type: "correlated", toolCallId: "toolu_1", correlation: "strong" },
      { type: "show" },
    ]);
    expect(typesOf(early.events)).toEqual(["started"]);
    expect(early.events[0]).toMatchObject({ parentToolCallId: "toolu_1", correlation: "strong" });
  });

  it("case 115: what was shown before the remote accepted says so when it does", () => {
    const { events } = play([
      { type: "show" },
      { type: "accepted", taskId: "t" },
      { type: "accepted", taskId: "t" },
    ]);
    expect(typesOf(events)).toEqual(["started", "status"]);
    expect(events[1]).toMatchObject({ status: "accepted", remoteTaskId: "t" });
  });

  it("a later artifact of the same id replaces the earlier one in the result", () => {
    const { state } = play([
      { type: "artifact_collected", artifact: artifactOf("a", 1) },
      { type: "artifact_collected", artifact: artifactOf("b", 1) },
      { type: "artifact_collected", artifact: artifactOf("a", 2) },
      { type: "completed" },
    ]);
    expect(state.answer?.artifacts?.map(({ id, size }) => [id, size])).toEqual([
      ["b", 1],
      ["a", 2],
    ]);
  });

  it("a remote's words are capped in events, never in the middle of a character", () => {
    const long = `${"x".repeat(1_999)}😀`;
    const { events } = play([
      { type: "status", status: "working", message: long },
      { type: "failed", message: long },
    ]);
    expect(events.find(({ type }) => type === "subagent.status")).toMatchObject({
      message: "x".repeat(1_999),
    });
    expect(terminalOf(events)).toMatchObject({ error: { message: "x".repeat(1_999) } });
  });
});

describe("properties (S1 22)", () => {
  const any = (check: (played: Played, inputs: readonly DelegationInput[]) => void) =>
    fc.assert(fc.property(delegationInputs, (inputs) => check(play(inputs), inputs)));

  it("started first, exactly one terminal last, and the end is always reached", () => {
    any(({ events, state, effects }) => {
      expect(events.filter(isSubagentTerminal)).toHaveLength(1);
      expect(isSubagentTerminal(events.at(-1) ?? { type: "" })).toBe(true);
      expect(events.filter(({ type }) => type === "subagent.started")).toHaveLength(1);
      expect(events[0]?.type).toBe("subagent.started");
      expect(state.phase).toBe("over");
      expect(effects.filter((effect) => effect === "end")).toHaveLength(1);
      expect(effects.filter((effect) => effect === "cancel_remote").length).toBeLessThanOrEqual(1);
    });
  });

  it("every event says whose it is, and ids that are known stay known", () => {
    any(({ events }) => {
      let seen: Partial<SubagentEvent> = {};
      for (const event of events) {
        expect(event).toMatchObject({
          runId: "run-1",
          delegationId: "del-1",
          agentKey: "research",
          protocol: "a2a",
        });
        if (seen.parentToolCallId !== undefined) expect(event.parentToolCallId).toBe(seen.parentToolCallId);
        if (seen.remoteTaskId !== undefined) expect(event.remoteTaskId).toBeDefined();
        seen = event;
      }
    });
  });

  it("texts, reasonings and tools are balanced, and no two texts are open at once", () => {
    any(({ events }) => {
      const open = new Map<string, string>();
      const tools = new Set<string>();
      for (const event of events) {
        const [, kind, part] = event.type.split(".");
        if ((kind === "text" || kind === "reasoning") && "messageId" in event) {
          if (part === "start") {
            expect(open.has(kind)).toBe(false);
            open.set(kind, event.messageId);
          } else expect(open.get(kind)).toBe(event.messageId);
          if (part === "end") open.delete(kind);
        }
        if (event.type === "subagent.tool.start") {
          expect(tools.has(event.toolCallId)).toBe(false);
          tools.add(event.toolCallId);
        }
        if (event.type === "subagent.tool.args") expect(tools.has(event.toolCallId)).toBe(true);
        if (event.type === "subagent.tool.end") expect(tools.delete(event.toolCallId)).toBe(true);
      }
      expect(open.size + tools.size).toBe(0);
    });
  });

  it("text and reasoning keep their order per message, and nothing of them is lost or repeated", () => {
    any(({ events, taken }) => {
      const collect = (
        items: readonly { type: string; messageId?: string; delta?: string }[],
        prefix: string,
      ) => {
        const texts: Record<string, string> = {};
        for (const { type, messageId = "", delta = "" } of items) {
          const kind = type.replace(prefix, "").replace(".delta", "");
          if (delta === "" || (kind !== "text" && kind !== "reasoning")) continue;
          texts[`${kind} ${messageId}`] = (texts[`${kind} ${messageId}`] ?? "") + delta;
        }
        return texts;
      };
      expect(collect(events, "subagent.")).toEqual(collect(taken, ""));
    });
  });

  it("a stop's cause is told by rank, user cancel before deadline before what the remote did", () => {
    any(({ events, taken }) => {
      const terminal = terminalOf(events);
      const cancel = taken.find(
        (input) => (input.type === "stop" && input.cause === "cancel") || input.type === "close",
      );
      const causes = taken.flatMap((input): StopCause[] =>
        input.type === "stop" ? [input.cause] : input.type === "input_required" ? [input.type] : [],
      );
      const [end] = taken.slice(-1);
      const code = terminal?.type === "subagent.failed" ? terminal.error.code : undefined;
      if (cancel !== undefined && "reason" in cancel)
        expect(terminal).toMatchObject({ type: "subagent.cancelled", reason: cancel.reason.slice(0, 2_000) });
      else if (causes.includes("deadline")) expect(code).toBe("remote_timeout");
      else if (causes.includes("input_required")) expect(code).toBe("input_required");
      else if (end?.type === "completed") expect(terminal?.type).toBe("subagent.finished");
      else if (end?.type === "cancelled") expect(terminal?.type).toBe("subagent.cancelled");
      else if (end?.type === "rejected") expect(code).toBe("remote_rejected");
      else if (end?.type === "disconnected") expect(code).toBe("stream_interrupted");
      else expect(code).toBe(end?.type === "failed" ? (end.code ?? "remote_failed") : undefined);
    });
  });

  it("the answer is given exactly once; given with the end, it is the terminal event's result", () => {
    any(({ events, state, effects, steps }) => {
      expect(effects.filter((effect) => effect === "answer")).toHaveLength(1);
      const terminal = terminalOf(events);
      if (terminal === undefined || !("result" in terminal)) throw new Error("no terminal event");
      expect(terminal.sizes.model).toBe(Buffer.byteLength(JSON.stringify(state.answer)));
      expect(terminal.sizes.seen).toBe(state.seen);
      const atTheEnd = steps.some((step) => step.includes("answer") && step.includes("end"));
      if (atTheEnd) expect(terminal.result).toEqual(state.answer);
      const early = steps.findIndex((step) => step.includes("answer") && !step.includes("end"));
      if (early >= 0) expect(steps[early]).toContain("watch_cancel");
    });
  });

  it("a state is a value: reducing the same input again gives the same step", () => {
    fc.assert(
      fc.property(delegationInputs, (inputs) => {
        let state = begin();
        for (const input of inputs) {
          const frozen = Object.freeze(state);
          const step = reduce(frozen, input);
          expect(reduce(frozen, input)).toEqual(step);
          state = step.state;
        }
      }),
    );
  });
});

describe("a delegation whose run ends before it", () => {
  it("closes what is open, and what comes later opens it again as the same message", () => {
    const { events, state } = play([
      { type: "accepted", taskId: "task-1" },
      { type: "text", messageId: "m", delta: "Hel" },
      { type: "tool.start", toolCallId: "t", name: "search" },
      { type: "detach" },
      { type: "detach" },
      { type: "text", messageId: "m", delta: "lo" },
      { type: "completed" },
    ]);
    expect(typesOf(events)).toEqual([
      "started",
      "text.start",
      "text.delta",
      "tool.start",
      "tool.end",
      "text.end",
      "detached",
      "resumed",
      "text.start",
      "text.delta",
      "text.end",
      "finished",
    ]);
    expect(state.answer?.summary).toBe("Hello");
  });

  it("one that nobody has seen yet is shown before", () => {
    expect(typesOf(play([{ type: "detach" }, { type: "completed" }]).events)).toEqual([
      "started",
      "detached",
      "resumed",
      "finished",
    ]);
  });

  it("property: nothing is open where a run may end, and text and end are the same as without", () => {
    fc.assert(
      fc.property(detachedInputs, (inputs) => {
        const { events, state } = play(inputs);
        const open = new Set<string>();
        let between = false;
        for (const event of events) {
          if (event.type === "subagent.detached") {
            expect([...open]).toEqual([]);
            between = true;
          } else if (event.type === "subagent.resumed") between = false;
          else expect(between).toBe(false);
          const id = "messageId" in event ? event.messageId : "toolCallId" in event ? event.toolCallId : "";
          if (/\.start$/.test(event.type)) open.add(event.type.replace(/start$/, id));
          if (/\.end$/.test(event.type)) open.delete(event.type.replace(/end$/, id));
        }
        const plain = play(inputs.filter(({ type }) => type !== "detach"));
        expect(state.answer).toEqual(plain.state.answer);
        const text = (all: readonly SubagentEvent[]) =>
          all.map((event) => (event.type === "subagent.text.delta" ? event.delta : "")).join("");
        expect(text(events)).toBe(text(plain.events));
        expect(events.filter(isSubagentTerminal)).toHaveLength(1);
      }),
    );
  });
});

describe("a remote without measure", () => {
  it("may say any number of messages: the result has room for the last, and says that there were more", () => {
    const inputs: DelegationInput[] = [];
    for (let count = 0; count < 50_000; count++)
      inputs.push({ type: "text", messageId: `m${count}`, delta: `${count}.` });
    const { state, events } = play([...inputs, { type: "completed" }]);
    expect(state.answer).toMatchObject({ status: "completed", summary: "49999.", truncated: true });
    expect(state.answer?.messages?.at(-1)).toEqual({ role: "assistant", text: "49998." });
    expect(state.texts.length).toBeLessThan(100);
    expect(events.filter(({ type }) => type === "subagent.text.end")).toHaveLength(50_000);
  });

  it("may open any number of calls: the oldest is ended, and each ends once", () => {
    const inputs: DelegationInput[] = [];
    for (let count = 0; count < 20_000; count++)
      inputs.push({ type: "tool.start", toolCallId: `t${count}`, name: "x" });
    const { state, events } = play([...inputs, { type: "completed" }]);
    expect(state.openTools).toEqual([]);
    const ended = events.flatMap((event) => (event.type === "subagent.tool.end" ? [event.toolCallId] : []));
    expect(new Set(ended).size).toBe(20_000);
    expect(ended).toHaveLength(20_000);
    const types = events.map(({ type }) => type);
    expect(types.indexOf("subagent.tool.end")).toBeLessThan(1_000);
    expect(ended[0]).toBe("t0");
  });
});
