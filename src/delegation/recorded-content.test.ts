import fc from "fast-check";
import { expect, it } from "vitest";
import type { SubagentEvent } from "./events.js";
import { RecordedContent } from "./recorded-content.js";
import type { RemoteSignal } from "./remote.js";

const identity = {
  runId: "r",
  delegationId: "d",
  agentKey: "k",
  agentName: "K",
  protocol: "a2a",
} as const;

function contentOf(...events: readonly object[]): RecordedContent {
  const content = new RecordedContent();
  for (const event of events) content.observe({ ...identity, ...event } as SubagentEvent);
  return content;
}

function text(messageId: string, delta: string): RemoteSignal {
  return { type: "text", messageId, delta };
}

it("property: however a text was cut before and is cut now, only what was missing is told, and once", () => {
  const pieces = (whole: string, cuts: readonly number[]) => {
    const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
    return places.slice(1).map((place, index) => whole.slice(places[index], place));
  };
  const cuts = fc.array(fc.nat(200), { maxLength: 8 });
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), fc.nat(80), cuts, cuts, (whole, told, before, now) => {
      const recorded = whole.slice(0, told);
      const content = contentOf(
        ...pieces(recorded, before).map((delta) => ({ type: "subagent.text.delta", messageId: "m", delta })),
      );
      const fresh = pieces(whole, now).map((delta) => content.fresh(text("m", delta)));
      const more = fresh.map((signal) => (signal?.type === "text" ? signal.delta : "")).join("");
      expect(recorded + more).toBe(whole);
    }),
  );
});

it("a text that goes on differently is another message, and what was shown stays", () => {
  const content = contentOf({ type: "subagent.text.delta", messageId: "m", delta: "I think" });
  expect(content.fresh(text("m", "I "))).toBeUndefined();
  expect(content.fresh(text("m", "know"))).toEqual(text("m-again", "I know"));
  expect(content.fresh(text("m", " it"))).toEqual(text("m-again", " it"));
  expect(content.fresh(text("other", "I think"))).toEqual(text("other", "I think"));
});

it("tools, their arguments and results, and files are told once", () => {
  const artifact = { id: "a", name: "a", mimeType: "text/plain", uri: "", size: 3, sha256: "s" };
  const content = contentOf(
    { type: "subagent.tool.start", toolCallId: "t", name: "Read" },
    { type: "subagent.tool.args", toolCallId: "t", delta: '{"a":' },
    { type: "subagent.artifact", artifact },
  );
  expect(content.fresh({ type: "tool.start", toolCallId: "t", name: "Read" })).toBeUndefined();
  expect(content.fresh({ type: "tool.args", toolCallId: "t", delta: '{"a":1}' })).toEqual({
    type: "tool.args",
    toolCallId: "t",
    delta: "1}",
  });
  for (const type of ["tool.end", "tool.result"] as const) {
    const signal = { type, toolCallId: "t", content: "ok", isError: false } as RemoteSignal;
    expect(content.fresh(signal)).toEqual(signal);
    content.observe({ ...identity, ...signal, type: `subagent.${type}` } as SubagentEvent);
    expect(content.fresh(signal)).toBeUndefined();
  }
  expect(content.has(artifact)).toBe(true);
  expect(content.has({ ...artifact, sha256: "other" })).toBe(false);
});
