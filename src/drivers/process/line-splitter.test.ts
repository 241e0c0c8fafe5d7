import fc from "fast-check";
import { expect, test } from "vitest";
import { LineSplitter } from "./line-splitter.js";

function split(chunks: readonly Buffer[], limit = 1_000): { lines: string[]; tooLong: number } {
  const lines: string[] = [];
  let tooLong = 0;
  const splitter = new LineSplitter(limit, { line: (line) => lines.push(line), tooLong: () => tooLong++ });
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return { lines, tooLong };
}

test("case 077: characters of several bytes stay whole at every split point", () => {
  const bytes = Buffer.from('{"a":"é"}\n{"b":"日本"}\n{"c":"👩‍👩‍👧"}', "utf8");
  for (let at = 0; at <= bytes.length; at++) {
    expect(split([bytes.subarray(0, at), bytes.subarray(at)]).lines).toEqual([
      '{"a":"é"}',
      '{"b":"日本"}',
      '{"c":"👩‍👩‍👧"}',
    ]);
  }
});

test("any chunking gives the same lines", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.array(fc.nat(20)), (texts, cuts) => {
      const lines = texts.map((text) => text.replaceAll("\n", " "));
      let rest = Buffer.from(lines.map((line) => `${line}\n`).join(""), "utf8");
      const chunks: Buffer[] = [];
      for (const cut of cuts) {
        chunks.push(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      expect(split([...chunks, rest], 100_000).lines).toEqual(lines);
    }),
  );
});

test("a line above the limit is told once and skipped, and the next one is read", () => {
  const parts = ["aaaa", "aaaa", "aaaa\nshort\n"].map((text) => Buffer.from(text));
  expect(split(parts, 6)).toEqual({ lines: ["short"], tooLong: 1 });
});
