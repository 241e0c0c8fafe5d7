import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RemoteSignal } from "../../delegation/remote.js";
import { createRedactor } from "../../wire/redact.js";
import { ContentVeil } from "./content-veil.js";

const TOKEN = "tok-1234567890";
const END: RemoteSignal = { type: "completed" };

function shown(signals: readonly RemoteSignal[], secret = TOKEN): RemoteSignal[] {
  const veil = new ContentVeil(createRedactor([secret]));
  return signals.flatMap((signal) => [...veil.pieces(signal)]);
}

const textOf = (signals: readonly RemoteSignal[]) =>
  signals.map((signal) => ("delta" in signal ? signal.delta : "")).join("");
const bytesOf = (signals: readonly RemoteSignal[]) =>
  Buffer.concat(signals.map((signal) => (signal.type === "artifact" ? signal.chunk.bytes : Buffer.alloc(0))));

/** `text` in pieces that end at `cuts`. */
function cut(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [...places, text.length].map((end, index) => text.slice(index === 0 ? 0 : places[index - 1], end));
}

describe("a credential in what a remote says piece by piece", () => {
  it("is taken out wherever it is cut, with a status in between, and all else is as it was", () => {
    const forms = [TOKEN, Buffer.from(TOKEN).toString("base64"), Buffer.from(TOKEN).toString("hex")];
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom(...forms),
        fc.string(),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.boolean(),
        (before, form, after, cuts, interrupted) => {
          const signals = cut(before + form + after, cuts).flatMap((delta): RemoteSignal[] => [
            { type: "text", messageId: "m", delta },
            ...(interrupted ? [{ type: "status", status: "working" } as const] : []),
          ]);
          const text = textOf(shown([...signals, END]));
          expect(text).toBe(createRedactor([TOKEN])(before + form + after));
          expect(text).not.toContain(form);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("text without it comes whole, in time, whatever it looks like", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom(..."tok-123x") })), (pieces) => {
        fc.pre(!pieces.join("").includes(TOKEN));
        const signals = pieces.map((delta) => ({ type: "text", messageId: "m", delta }) as const);
        expect(textOf(shown([...signals, END]))).toBe(pieces.join(""));
        // No more is held back than the credential is long.
        expect(pieces.join("").length - textOf(shown(signals)).length).toBeLessThan(40);
      }),
    );
  });

  it.each([
    ["another message", { type: "text", messageId: "n", delta: "x" }],
    ["a question", { type: "input_required", prompt: "?" }],
    ["the end", END],
    ["a broken stream", { type: "disconnected", message: "gone" }],
  ] as const)("what was held back is said before %s", (_, next) => {
    const said = shown([{ type: "text", messageId: "m", delta: "see tok-" }, next]);
    expect(said).toEqual([
      { type: "text", messageId: "m", delta: "see " },
      { type: "text", messageId: "m", delta: "tok-" },
      next,
    ]);
  });

  it("reasoning, and a tool's arguments up to their end", () => {
    const [one, two] = [TOKEN.slice(0, 5), TOKEN.slice(5)];
    const thought = (delta: string) => ({ type: "reasoning", messageId: "r", delta }) as const;
    const args = (delta: string) => ({ type: "tool.args", toolCallId: "t", delta }) as const;
    const end = { type: "tool.end", toolCallId: "t" } as const;
    const said = shown([thought(one), args(one), thought(two), args(two), args("to"), end]);
    expect(JSON.stringify(said)).not.toContain("567890");
    expect(said.slice(-2)).toEqual([args("to"), end]);
  });

  it("the bytes of files, whole or in pieces; other bytes stay as they are", () => {
    const chunk = (text: string, more: object = {}) =>
      ({
        type: "artifact",
        chunk: { id: "a", mode: "append", bytes: Buffer.from(text, "latin1"), last: false, ...more },
      }) as RemoteSignal;
    const binary = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code));
    expect(bytesOf(shown([chunk(binary, { mode: "replace", last: true })]))).toEqual(
      Buffer.from(binary, "latin1"),
    );
    const pieces = [chunk(`${binary}${TOKEN.slice(0, 3)}`), chunk(TOKEN.slice(3)), chunk("", { last: true })];
    const said = shown(pieces);
    expect(bytesOf(said).toString("latin1")).toBe(`${binary}[redacted]`);
    expect(said.at(-1)).toMatchObject({ chunk: { last: true } });
    // What replaces an artifact has nothing to do with what was held back of it.
    expect(bytesOf(shown([chunk("tok-"), chunk("new", { mode: "replace", last: true })])).toString()).toBe(
      "new",
    );
    expect(bytesOf(shown([chunk("ends with tok"), END])).toString()).toBe("ends with tok");
  });
});
