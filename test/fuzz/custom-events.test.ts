import { EventSchemas } from "@ag-ui/core/schemas";
import { expect, it } from "vitest";
import { createEncoder, encodeFrame } from "../../src/bridges/agui/encoder.js";
import type { SubagentEvent } from "../../src/delegation/events.js";
import { SseParser } from "../../src/wire/sse-reader.js";
import { FUZZ_LIMIT_MS, fuzz, must, type Random } from "./fuzz.js";

const encoders = (["custom", "native", "activity", "tool"] as const).map((mode) =>
  createEncoder(mode, { threadId: "t", cancelledOutcome: true }),
);

/** An event of a type that exists, in which everything that may come from a remote is junk. */
function eventOf(random: Random): SubagentEvent {
  const text = () => random.text();
  const identity = {
    runId: text(),
    delegationId: `d-${random.below(9)}`,
    agentKey: "research",
    agentName: text(),
    protocol: "a2a" as const,
    ...(random.chance(0.5) ? { parentToolCallId: text() } : {}),
    ...(random.chance(0.5) ? { remoteTaskId: text(), remoteContextId: text() } : {}),
  };
  const messageId = `m-${random.below(9)}`;
  const toolCallId = text();
  const sizes = { seen: random.below(100), model: random.below(100) };
  const artifact = {
    id: text(),
    name: text(),
    mimeType: text(),
    uri: text(),
    size: 1,
    sha256: text(),
    preview: text(),
  };
  const result = { status: text(), more: random.json() };
  return {
    ...identity,
    ...random.pick([
      () => ({ type: "subagent.started", objective: text(), correlation: "none" }) as const,
      () => ({ type: "subagent.status", status: text(), message: text() }) as const,
      () => ({ type: "subagent.correlated", correlation: "medium" }) as const,
      () => ({ type: "subagent.text.start", messageId }) as const,
      () => ({ type: "subagent.text.delta", messageId, delta: `${text()}.` }) as const,
      () => ({ type: "subagent.text.end", messageId }) as const,
      () => ({ type: "subagent.reasoning.start", messageId }) as const,
      () => ({ type: "subagent.reasoning.delta", messageId, delta: `${text()}.` }) as const,
      () => ({ type: "subagent.reasoning.end", messageId }) as const,
      () => ({ type: "subagent.tool.start", toolCallId, name: text() }) as const,
      () => ({ type: "subagent.tool.args", toolCallId, delta: text() }) as const,
      () => ({ type: "subagent.tool.end", toolCallId }) as const,
      () =>
        ({ type: "subagent.tool.result", toolCallId, content: text(), isError: random.chance(0.5) }) as const,
      () => ({ type: "subagent.input_required", prompt: text(), schema: random.json() }) as const,
      () => ({ type: "subagent.input_resolved", by: "person" }) as const,
      () => ({ type: "subagent.artifact", artifact }) as const,
      () => ({ type: "subagent.finished", result, sizes }) as const,
      () =>
        ({
          type: "subagent.failed",
          error: { code: "remote_failed", message: text(), retryable: false, remoteStatus: text() },
          result,
          sizes,
        }) as const,
      () => ({ type: "subagent.cancelled", reason: text(), confirmed: true, result, sizes }) as const,
    ])(),
  };
}

it(
  "every subagent event is one frame whose JSON is an AG-UI event, in all encodings",
  async () => {
    const bytes = new TextEncoder();
    await fuzz<SubagentEvent>({
      // Two frames each.
      inputs: 200_000,
      generate: eventOf,
      check(event) {
        for (const encode of encoders) {
          const frame = encodeFrame({ cursor: "7", thread: "t", runId: "r", time: 1, event }, encode);
          must(frame !== undefined, "be told");
          const frames = [...new SseParser().push(bytes.encode(frame))];
          must(frames.length === 1 && frames[0]?.id === "7", "be one frame with its own id");
          const told: unknown = JSON.parse(frames[0]?.data ?? "");
          EventSchemas.parse(told);
          const sent = JSON.stringify(encode({ cursor: "7", thread: "t", runId: "r", time: 1, event }));
          must(JSON.stringify(told) === JSON.stringify(JSON.parse(sent)), "arrive as it was sent");
        }
      },
    });
    expect(encoders).toHaveLength(4);
  },
  FUZZ_LIMIT_MS,
);
