import fc from "fast-check";
import type { DelegationInput } from "../../src/delegation/delegation-state.js";
import type { ArtifactDescription } from "../../src/delegation/events.js";

/** The description of an artifact that nobody has. */
export function artifactOf(id: string, size = 10): ArtifactDescription {
  return {
    id,
    name: `${id}.txt`,
    mimeType: "text/plain",
    uri: `host://delegations/del-1/artifacts/${id}.txt`,
    size,
    sha256: "0".repeat(64),
  };
}

const id = fc.constantFrom("1", "2", "3");
const words = fc.oneof(
  fc.constantFrom("", " ", "Done.", "working", "x".repeat(3_000)),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const message = fc.option(words, { nil: undefined });
const optional = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;

/** Anything that content of a remote may look like. */
const content: fc.Arbitrary<DelegationInput> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("text" as const), messageId: id, delta: words }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("reasoning" as const), messageId: id, delta: words }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("status" as const), status: words, message }) },
  fc.record({ type: fc.constant("accepted" as const), taskId: message, contextId: message }),
  fc.record({ type: fc.constant("tool.start" as const), toolCallId: id, name: words }),
  fc.record({ type: fc.constant("tool.args" as const), toolCallId: id, delta: words }),
  fc.record({ type: fc.constant("tool.end" as const), toolCallId: id }),
  fc.record({
    type: fc.constant("tool.result" as const),
    toolCallId: id,
    content: words,
    isError: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("artifact_collected" as const),
    artifact: id.map((name) => artifactOf(name)),
  }),
  fc.record({ type: fc.constant("auth_required" as const), prompt: message }),
  fc.constant({ type: "show" } as const),
  fc.record({
    type: fc.constant("correlated" as const),
    toolCallId: id.map((name) => `toolu_${name}`),
    correlation: fc.constantFrom("strong" as const, "medium" as const),
  }),
) as fc.Arbitrary<DelegationInput>;

/** Anything that stops or ends. */
const ending: fc.Arbitrary<DelegationInput> = fc.oneof(
  fc.record({
    type: fc.constant("stop" as const),
    cause: fc.constantFrom("cancel" as const, "deadline" as const),
    reason: words,
  }),
  fc.record({ type: fc.constant("input_required" as const), prompt: message }),
  fc.record({ type: fc.constant("completed" as const), message }),
  fc.record({
    type: fc.constant("failed" as const),
    message,
    code: fc.constantFrom(
      "internal" as const,
      "artifact_too_large" as const,
      "remote_failed" as const,
      undefined,
    ),
  }),
  fc.record({ type: fc.constant("rejected" as const), message }),
  fc.record({ type: fc.constant("cancelled" as const), message }),
  fc.record({ type: fc.constant("disconnected" as const), message: words }),
  fc.record({
    type: fc.constant("cancel_answered" as const),
    answer: fc.constantFrom(
      undefined,
      { outcome: "cancelled" as const },
      { outcome: "already_over" as const, remoteStatus: "completed" },
      { outcome: "pending" as const, detail: "no" },
    ),
  }),
  fc.record({ type: fc.constant("watch_ended" as const), remoteStatus: message }),
) as fc.Arbitrary<DelegationInput>;

/** Any inputs in any order, closed by the end of the run. */
export const delegationInputs: fc.Arbitrary<DelegationInput[]> = fc
  .array(fc.oneof({ weight: 6, arbitrary: content }, { weight: 1, arbitrary: ending }), { maxLength: 30 })
  .map((inputs) => [...inputs.map(optional), { type: "close", reason: "the run ended" }]);

/** The same with the end of runs in between. */
export const detachedInputs: fc.Arbitrary<DelegationInput[]> = fc
  .tuple(fc.array(fc.nat({ max: 40 }), { maxLength: 6 }), delegationInputs)
  .map(([places, inputs]) => {
    const mixed = [...inputs];
    for (const place of places) mixed.splice(Math.min(place, mixed.length - 1), 0, { type: "detach" });
    return mixed;
  });
