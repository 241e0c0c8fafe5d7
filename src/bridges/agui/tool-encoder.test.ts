import { AbstractAgent as Agent100, type BaseEvent, type Message, type RunAgentInput } from "@ag-ui/client";
import { AbstractAgent as Agent58 } from "ag-ui-client-0-0-58";
import { AbstractAgent as Agent59 } from "ag-ui-client-0-0-59";
import fc from "fast-check";
import { from } from "rxjs";
import { describe, expect, it } from "vitest";
import { delegationInputs } from "../../../test/support/delegation-inputs.js";
import { reduce } from "../../delegation/delegation.js";
import { newDelegation } from "../../delegation/delegation-state.js";
import type { SubagentEvent } from "../../delegation/events.js";
import { encodeTool } from "./tool-encoder.js";

type Inputs = Parameters<typeof reduce>[1][];

/** Clients of AG-UI, given a finished run. */
const CLIENTS = [
  ["1.0.0", Agent100],
  ["0.0.59", Agent59 as unknown as typeof Agent100],
  ["0.0.58", Agent58 as unknown as typeof Agent100],
] as const;

async function messagesOf(Client: typeof Agent100, events: readonly SubagentEvent[]): Promise<Message[]> {
  class ReplayedAgent extends Client {
    run({ runId }: RunAgentInput) {
      const around = (type: string) => ({ type, threadId: "t", runId });
      const call = (type: string, more = {}) => ({ type, toolCallId: "toolu_1", ...more });
      return from([
        around("RUN_STARTED"),
        call("TOOL_CALL_START", { toolCallName: "delegate_to_agent" }),
        call("TOOL_CALL_END"),
        ...events.map((event) => encodeTool(event)),
        around("RUN_FINISHED"),
      ] as unknown as BaseEvent[]);
    }
  }
  const agent = new ReplayedAgent({ threadId: "t" });
  await agent.runAgent();
  return agent.messages;
}

function eventsOf(inputs: Inputs, parentToolCallId?: string): SubagentEvent[] {
  const identity = {
    runId: "run-1",
    delegationId: "del-1",
    agentKey: "research",
    agentName: "Research",
    protocol: "a2a",
    ...(parentToolCallId !== undefined && { parentToolCallId }),
  } as const;
  let state = newDelegation(identity, { objective: "x", correlation: "none", maxResultBytes: 8_192 });
  return inputs.flatMap((input) => {
    const step = reduce(state, input);
    state = step.state;
    return step.events;
  });
}

interface Shown {
  readonly name: string;
  readonly arguments: { readonly objective: string; readonly happened: readonly Record<string, unknown>[] };
  readonly results: readonly (Message & { readonly role: "tool" })[];
  /** Names of the calls in the message that the call is in. */
  readonly beside: readonly string[];
}

function shownIn(messages: readonly Message[]): Shown {
  const calls = messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []) : [],
  );
  const [call, ...others] = calls.filter(({ id }) => id === "del-1");
  if (call === undefined) throw new Error("no call");
  expect(others).toEqual([]);
  const holder = messages.find(
    (message) => message.role === "assistant" && message.toolCalls?.some(({ id }) => id === "del-1"),
  );
  return {
    name: call.function.name,
    // What a parser that reads JSON as it grows makes of it.
    arguments: JSON.parse(`${call.function.arguments}]}`),
    results: messages.filter((message) => message.role === "tool"),
    beside: (holder?.role === "assistant" ? (holder.toolCalls ?? []) : []).map((each) => each.function.name),
  };
}

describe.each(CLIENTS)("a delegation as a tool call, to a client of %s", (_version, Client) => {
  it("golden: one call beside the parent's, with what happened in order, and its result", async () => {
    const events = eventsOf(
      [
        { type: "accepted", taskId: "task-1" },
        { type: "status", status: "working", message: "Reading" },
        { type: "text", messageId: "m", delta: "Three " },
        { type: "tool.start", toolCallId: "c", name: "search" },
        { type: "tool.args", toolCallId: "c", delta: '{"q":1}' },
        { type: "tool.end", toolCallId: "c" },
        { type: "tool.result", toolCallId: "c", content: "12 hits", isError: false },
        { type: "text", messageId: "m", delta: "queues." },
        { type: "completed" },
      ],
      "toolu_1",
    );
    expect(new Set(events.map((event) => encodeTool(event).type))).toEqual(
      new Set(["TOOL_CALL_CHUNK", "CUSTOM", "TOOL_CALL_RESULT"]),
    );
    const shown = shownIn(await messagesOf(Client, events));
    expect(shown).toMatchObject({ name: "research", beside: ["delegate_to_agent", "research"] });
    expect(shown.arguments).toEqual({
      agentName: "Research",
      objective: "x",
      happened: [
        {},
        { status: "working", message: "Reading" },
        { text: "Three ", id: "m" },
        { tool: "search", id: "c" },
        { args: '{"q":1}', id: "c" },
        { result: "12 hits", isError: false, id: "c" },
        { text: "queues.", id: "m" },
      ],
    });
    expect(shown.results).toHaveLength(1);
    const [result] = shown.results;
    expect(JSON.parse(String(result?.content))).toMatchObject({
      delegation_id: "del-1",
      status: "completed",
    });
  });

  it("property: whatever happens, the client has all words once, and exactly one result", async () => {
    await fc.assert(
      fc.asyncProperty(delegationInputs, fc.boolean(), async (inputs, known) => {
        const events = eventsOf(inputs, known ? "toolu_1" : undefined);
        const shown = shownIn(await messagesOf(Client, events));
        const said = (key: string) => shown.arguments.happened.map((piece) => piece[key] ?? "").join("");
        const deltas = (type: string) =>
          events.map((event) => (event.type === type && "delta" in event ? event.delta : "")).join("");
        expect(said("text")).toBe(deltas("subagent.text.delta"));
        expect(said("reasoning")).toBe(deltas("subagent.reasoning.delta"));
        expect(said("args")).toBe(deltas("subagent.tool.args"));
        expect(shown.results.map(({ toolCallId }) => toolCallId)).toEqual(["del-1"]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a delegation as a tool call", () => {
  it("a failure is an error of the call", () => {
    const failed = eventsOf([{ type: "failed", message: "No." }]).at(-1);
    expect(failed && encodeTool(failed)).toMatchObject({
      type: "TOOL_CALL_RESULT",
      metadata: { isError: true },
    });
  });

  it("a piece does not grow with the run", () => {
    const events = eventsOf(
      Array.from({ length: 500 }, () => ({ type: "text", messageId: "m", delta: "words " }) as const),
    );
    expect(
      Math.max(...events.slice(1).map((event) => JSON.stringify(encodeTool(event)).length)),
    ).toBeLessThan(200);
  });
});
