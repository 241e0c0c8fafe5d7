import { AbstractAgent, type BaseEvent, type RunAgentInput } from "@ag-ui/client";
import fc from "fast-check";
import { from, type Observable } from "rxjs";
import { describe, expect, it } from "vitest";
import { delegationInputs } from "../../../test/support/delegation-inputs.js";
import { reduce } from "../../delegation/delegation.js";
import { newDelegation } from "../../delegation/delegation-state.js";
import type { SubagentEvent } from "../../delegation/events.js";
import { encodeActivity } from "./activity-encoder.js";

/** AG-UI's own client, given a finished run. */
class ReplayedAgent extends AbstractAgent {
  constructor(private readonly events: readonly BaseEvent[]) {
    super({ threadId: "t" });
  }

  run({ runId }: RunAgentInput): Observable<BaseEvent> {
    const around = (type: string) => ({ type, threadId: "t", runId }) as unknown as BaseEvent;
    return from([around("RUN_STARTED"), ...this.events, around("RUN_FINISHED")]);
  }
}

interface Content {
  readonly state: string;
  readonly said: readonly { readonly kind: string; readonly id: string; readonly delta: string }[];
  readonly tools: Readonly<Record<string, unknown>>;
  readonly artifacts: Readonly<Record<string, unknown>>;
}

async function shown(events: readonly SubagentEvent[]): Promise<Content> {
  const agent = new ReplayedAgent(events.map((event) => encodeActivity(event) as unknown as BaseEvent));
  await agent.runAgent();
  const [message, ...others] = agent.messages;
  expect(others).toEqual([]);
  if (message?.role !== "activity") throw new Error("no activity message");
  return message.content as unknown as Content;
}

function eventsOf(inputs: Parameters<typeof reduce>[1][]): SubagentEvent[] {
  let state = newDelegation(
    { runId: "run-1", delegationId: "del/1~", agentKey: "research", agentName: "Research", protocol: "a2a" },
    { objective: "x", correlation: "none", maxResultBytes: 8_192 },
  );
  return inputs.flatMap((input) => {
    const step = reduce(state, input);
    state = step.state;
    return step.events;
  });
}

describe("a delegation as an activity message", () => {
  it("property: a client that knows patches and nothing of subagents has all of it at the end", async () => {
    await fc.assert(
      fc.asyncProperty(delegationInputs, async (inputs) => {
        const events = eventsOf(inputs);
        const content = await shown(events);
        const words = (kind: string) =>
          content.said.map((piece) => (piece.kind === kind ? piece.delta : "")).join("");
        const deltas = (type: string) =>
          events.map((event) => (event.type === type && "delta" in event ? event.delta : "")).join("");
        expect(words("text")).toBe(deltas("subagent.text.delta"));
        expect(words("reasoning")).toBe(deltas("subagent.reasoning.delta"));
        expect(["done", "failed", "stopped"]).toContain(content.state);
        const ids = events.flatMap((event) => (event.type === "subagent.artifact" ? event.artifact.id : []));
        expect(Object.keys(content.artifacts).sort()).toEqual([...new Set(ids)].sort());
      }),
      { numRuns: 100 },
    );
  });

  it("what goes over the wire grows with what is said, not with its square", () => {
    const size = (count: number) =>
      eventsOf(
        Array.from(
          { length: count },
          () => ({ type: "text", messageId: "m", delta: "some words " }) as const,
        ),
      ).reduce((sum, event) => sum + JSON.stringify(encodeActivity(event)).length, 0);
    expect(size(2_000) / size(1_000)).toBeLessThan(2.1);
  });
});
