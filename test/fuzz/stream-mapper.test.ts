import { StreamResponse } from "@a2a-js/sdk";
import { expect, it } from "vitest";
import { reduce } from "../../src/delegation/delegation.js";
import { newDelegation } from "../../src/delegation/delegation-state.js";
import { isSubagentTerminal, type SubagentEvent } from "../../src/delegation/events.js";
import type { RemoteSignal } from "../../src/delegation/remote.js";
import { modernResponse } from "../../src/remotes/a2a/legacy.js";
import { StreamMapper } from "../../src/remotes/a2a/stream-mapper.js";
import { FUZZ_LIMIT_MS, fuzz, must } from "./fuzz.js";

const ids = { taskId: "t", contextId: "c" };
const message = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "hello" }, { data: { a: 1 } }] };
const status = { state: "TASK_STATE_WORKING", message, timestamp: "2026-01-01T00:00:00Z" };
const artifact = {
  artifactId: "a",
  name: "report.md",
  parts: [
    { text: "x", mediaType: "text/markdown", filename: "x.md" },
    { raw: "eA==", metadata: { adk_type: "function_call" } },
    { data: { id: "1", name: "search", args: {} }, metadata: { adk_type: "function_call" } },
  ],
};
/** What a stream may hold, in the shapes of both versions. */
const RESPONSES = [
  { task: { id: "t", contextId: "c", status, artifacts: [artifact], history: [message] } },
  { message: { ...message, contextId: "c" } },
  { statusUpdate: { ...ids, status } },
  { statusUpdate: { ...ids, status: { state: "TASK_STATE_COMPLETED", message } } },
  { statusUpdate: { ...ids, status: { state: "TASK_STATE_INPUT_REQUIRED", message } } },
  { statusUpdate: { ...ids, status, metadata: { coderAgent: { kind: "tool-call-update" } } } },
  { artifactUpdate: { ...ids, artifact, append: true, lastChunk: false } },
  {
    artifactUpdate: {
      ...ids,
      artifact: { artifactId: "b", name: "", parts: [{ text: "said" }] },
      append: false,
    },
  },
  { kind: "task", id: "t", contextId: "c", status: { state: "working" }, artifacts: [artifact] },
  {
    kind: "status-update",
    ...ids,
    final: true,
    status: {
      state: "failed",
      message: { ...message, role: "agent", parts: [{ kind: "text", text: "no" }] },
    },
  },
  {
    kind: "artifact-update",
    ...ids,
    artifact: { artifactId: "f", parts: [{ kind: "file", file: { bytes: "eA==", name: "f" } }] },
  },
] as const;

const FINAL = new Set(["completed", "failed", "rejected", "cancelled", "disconnected"]);
const IDENTITY = { runId: "r", delegationId: "d", agentKey: "k", agentName: "n", protocol: "a2a" } as const;

it(
  "whatever a remote streams becomes signals with at most one end, and a delegation with exactly one",
  async () => {
    let signals = 0;
    await fuzz<unknown[]>({
      // Two and a half responses each.
      inputs: 200_000,
      generate: (random) =>
        Array.from({ length: 1 + random.below(4) }, () => random.mutate(random.pick(RESPONSES), 0.05)),
      check(stream, random) {
        const mapper = new StreamMapper({ streaming: random.chance(0.8) });
        const said: RemoteSignal[] = [];
        for (const result of stream) {
          const { json, ...more } = modernResponse(result);
          let response: StreamResponse;
          try {
            response = StreamResponse.fromJSON(json);
          } catch {
            continue;
          }
          const { payload } = response;
          said.push(
            ...(payload?.$case === "task" && random.chance(0.3)
              ? mapper.snapshot(payload.value, more)
              : mapper.map(response, more)),
          );
        }
        signals += said.length;
        const ends = said.filter(({ type }) => FINAL.has(type)).length;
        must(ends === (mapper.over ? 1 : 0), "end once when it is over");
        must(ends === 0 || FINAL.has(said.at(-1)?.type ?? ""), "say nothing after the end");
        for (const signal of said) {
          if (signal.type === "artifact")
            must(signal.chunk.bytes instanceof Uint8Array && signal.chunk.id !== "", "give whole chunks");
          if ("delta" in signal) must(typeof signal.delta === "string", "give deltas of text");
          if ("messageId" in signal) must(/^[\w.-]{1,130}$/.test(signal.messageId), "give safe message ids");
        }
        let state = newDelegation(IDENTITY, { objective: "x", correlation: "none", maxResultBytes: 2_048 });
        const events: SubagentEvent[] = [];
        for (const input of [...said, { type: "close", reason: "over" } as const]) {
          const step = reduce(state, input);
          state = step.state;
          events.push(...step.events);
        }
        must(events[0]?.type === "subagent.started", "start first");
        must(
          events.filter(isSubagentTerminal).length === 1 && isSubagentTerminal(events.at(-1) ?? { type: "" }),
          "end once, and last",
        );
        must(Buffer.byteLength(JSON.stringify(state.answer)) <= 2_048, "keep its result within its limit");
      },
    });
    expect(signals).toBeGreaterThan(0);
  },
  FUZZ_LIMIT_MS,
);
