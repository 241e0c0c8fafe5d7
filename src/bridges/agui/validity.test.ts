import fc from "fast-check";
import { describe, it } from "vitest";
import { delegationInputs } from "../../../test/support/delegation-inputs.js";
import { type ClientVersion, verify } from "../../../test/support/verify.js";
import type { DriverEvent, RunEvent } from "../../core/run-event.js";
import { RunGrammar } from "../../core/run-grammar.js";
import { reduce } from "../../delegation/delegation.js";
import { newDelegation } from "../../delegation/delegation-state.js";
import type { SubagentEvent } from "../../delegation/events.js";
import { createEncoder, type SubagentEncoding } from "./encoder.js";
import type { ThreadEvent } from "./event.js";

const id = fc.constantFrom("1", "2");
const driverEvent: fc.Arbitrary<DriverEvent> = fc.oneof(
  fc.record({
    type: fc.constantFrom(
      "text.start" as const,
      "text.end" as const,
      "reasoning.start" as const,
      "reasoning.end" as const,
    ),
    messageId: id,
  }),
  fc.record({
    type: fc.constantFrom("text.delta" as const, "reasoning.delta" as const),
    messageId: id,
    delta: fc.string({ minLength: 1, maxLength: 3 }),
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
);
const terminal: fc.Arbitrary<RunEvent> = fc.constantFrom(
  { type: "run.finished", text: "" },
  { type: "run.cancelled", reason: "user" },
  { type: "run.failed", error: { code: "internal", message: "no", retryable: false } },
);

/** A run and its delegations, as they could stand in a journal. */
const thread: fc.Arbitrary<ThreadEvent[]> = fc
  .record({
    own: fc.array(driverEvent, { maxLength: 20 }),
    delegations: fc.array(delegationInputs, { maxLength: 3 }),
    picks: fc.array(fc.nat(3), { minLength: 40, maxLength: 40 }),
    end: terminal,
  })
  .map(({ own, delegations, picks, end }) => {
    const grammar = new RunGrammar();
    const parent: ThreadEvent[] = own.filter((event) => grammar.accept(event));
    const queues: ThreadEvent[][] = [
      [...parent, ...grammar.close()],
      ...delegations.map((inputs, index) => subagentEvents(`del-${index}`, inputs)),
    ];
    const events: ThreadEvent[] = [{ type: "run.started", agent: "claude", messages: [] }];
    for (let step = 0; queues.some((queue) => queue.length > 0); step++) {
      const open = queues.filter((queue) => queue.length > 0);
      const next = open[(picks[step % picks.length] ?? 0) % open.length]?.shift();
      if (next !== undefined) events.push(next);
    }
    return [...events, end];
  });

function subagentEvents(delegationId: string, inputs: Parameters<typeof reduce>[1][]): SubagentEvent[] {
  let state = newDelegation(
    { runId: "run-1", delegationId, agentKey: "research", agentName: "Research", protocol: "a2a" },
    { objective: "x", correlation: "none", maxResultBytes: 8_192 },
  );
  return inputs.flatMap((input) => {
    const step = reduce(state, input);
    state = step.state;
    return step.events;
  });
}

describe("case 087: any run with any delegations side by side is valid", () => {
  it.each<[SubagentEncoding, ClientVersion]>([
    ["custom", "1.0.0"],
    ["native", "1.0.0"],
    ["activity", "1.0.0"],
    ["tool", "1.0.0"],
    ["custom", "0.0.59"],
    ["native", "0.0.59"],
    ["activity", "0.0.59"],
    ["tool", "0.0.59"],
    ["custom", "0.0.58"],
    ["activity", "0.0.58"],
    ["tool", "0.0.58"],
  ])("%s for a client of %s", async (encoding, version) => {
    const encode = createEncoder(encoding, { threadId: "thread-1", cancelledOutcome: version === "1.0.0" });
    await fc.assert(
      fc.asyncProperty(thread, async (events) => {
        const frames = events.flatMap((event, index) => {
          const encoded = encode({
            cursor: String(index + 1),
            thread: "/thread-1",
            runId: "run-1",
            time: 0,
            event,
          });
          return encoded === undefined
            ? []
            : [{ id: String(index + 1), event: JSON.parse(JSON.stringify(encoded)) }];
        });
        await verify(frames, version);
      }),
    );
  });
});
