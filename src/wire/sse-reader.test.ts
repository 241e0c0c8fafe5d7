import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readSse, type SseEvent, SseParser } from "./sse-reader.js";
import { formatSse } from "./sse-writer.js";

const encoder = new TextEncoder();

function parse(bytes: Uint8Array, cuts: readonly number[] = []): SseEvent[] {
  const parser = new SseParser();
  const edges = [0, ...[...cuts].sort((left, right) => left - right), bytes.length];
  return edges.slice(1).flatMap((end, index) => [...parser.push(bytes.subarray(edges[index], end))]);
}

function parseText(text: string): SseEvent[] {
  return parse(encoder.encode(text));
}

describe("SseParser", () => {
  test.each([
    ["LF", "\n"],
    ["CRLF (case 079)", "\r\n"],
    ["CR", "\r"],
  ])("%s ends lines and events", (_name, end) => {
    expect(parseText(`id: 7${end}event: a${end}data: x${end}${end}data: y${end}${end}`)).toEqual([
      { id: "7", event: "a", data: "x" },
      { data: "y" },
    ]);
  });

  test("delivers a CR-framed event without waiting for the byte after it", () => {
    expect(parseText("data: x\r\r")).toEqual([{ data: "x" }]);
  });

  test("case 081: joins data lines with LF, keeps empty ones", () => {
    expect(parseText("data: a\ndata:\ndata\ndata:  b\n\n")).toEqual([{ data: "a\n\n\n b" }]);
  });

  test("reads data without the space after the colon", () => {
    expect(parseText('data:{"a":1}\n\n')).toEqual([{ data: '{"a":1}' }]);
  });

  test("strips one BOM at the start and none elsewhere", () => {
    expect(parseText("\uFEFFdata: \uFEFFx\n\n\uFEFFdata: lost\n\ndata: y\n\n")).toEqual([
      { data: "\uFEFFx" },
      { data: "y" },
    ]);
  });

  test("delivers nothing for events without data, and keeps their id and retry for the next one", () => {
    expect(parseText("id: 1\nretry: 250\n\nevent: gone\n\ndata: x\n\n")).toEqual([
      { id: "1", retry: 250, data: "x" },
    ]);
  });

  test("ignores ids with NUL, retry that is no number, and unknown fields", () => {
    expect(parseText("id: a\0b\nretry: soon\nfoo: bar\nbaz\ndata: x\n\n")).toEqual([{ data: "x" }]);
  });

  test("drops an event that the end of the stream cut off", () => {
    expect(parseText("data: whole\n\ndata: half\n")).toEqual([{ data: "whole" }]);
  });

  test("reports comments as signs of life", () => {
    const comments: string[] = [];
    const parser = new SseParser({ onComment: (text) => comments.push(text) });
    expect([...parser.push(encoder.encode(": hb\n\n:\n\n"))]).toEqual([]);
    expect(comments).toEqual(["hb", ""]);
  });

  test("refuses an oversized line before its end arrives", () => {
    const parser = new SseParser({ maxEventBytes: 100 });
    expect([...parser.push(encoder.encode(`data: ${"x".repeat(90)}\n\n`))]).toHaveLength(1);
    expect([...parser.push(encoder.encode("data: "))]).toEqual([]);
    expect(() => [...parser.push(encoder.encode("x".repeat(95)))]).toThrowError(
      expect.objectContaining({ name: "WireError", code: "too_large" }),
    );
  });

  test("refuses an event that is oversized only in sum", () => {
    const parser = new SseParser({ maxEventBytes: 100 });
    expect(() => [...parser.push(encoder.encode(`data: ${"x".repeat(60)}\n`.repeat(2)))]).toThrowError(
      expect.objectContaining({ code: "too_large" }),
    );
  });

  test("many comments and events never add up to an oversized one", () => {
    const parser = new SseParser({ maxEventBytes: 100 });
    const piece = encoder.encode(`: ${"-".repeat(60)}\ndata: ${"x".repeat(60)}\n\n`);
    for (let round = 0; round < 50; round++) expect([...parser.push(piece)]).toHaveLength(1);
  });

  test("gives the events before a fault in the same bytes", () => {
    const seen: string[] = [];
    const parser = new SseParser({ maxEventBytes: 20 });
    expect(() => {
      for (const { data } of parser.push(encoder.encode(`data: a\n\ndata: b\n\ndata: ${"x".repeat(20)}\n\n`)))
        seen.push(data);
    }).toThrowError(expect.objectContaining({ code: "too_large" }));
    expect(seen).toEqual(["a", "b"]);
  });

  test("refuses what is not UTF-8", () => {
    expect(() => parse(new Uint8Array([...encoder.encode("data: "), 0xc3, 0x28, 0x0a]))).toThrowError(
      expect.objectContaining({ code: "malformed" }),
    );
  });

  test("case 077: a character cut at any byte stays whole", () => {
    const bytes = encoder.encode("data: ä€😀\n\n");
    for (let cut = 0; cut <= bytes.length; cut++) expect(parse(bytes, [cut])).toEqual([{ data: "ä€😀" }]);
  });

  const line = fc.oneof(
    fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[\r\n]/g, "")),
    fc.constantFrom(
      "data: x",
      "data:",
      "data",
      "id: 1",
      "id:",
      "event: e",
      "retry: 10",
      ": c",
      "",
      "",
      "data: é😀",
      "\uFEFF",
    ),
  );
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")))
    .map((lines) => lines.map(([text, end]) => text + end).join(""));

  test("any split of any stream gives the same events", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(400), { maxLength: 20 }), (text, positions) => {
        const bytes = encoder.encode(text);
        const cuts = positions.map((position) => Math.min(position, bytes.length));
        expect(parse(bytes, cuts)).toEqual(parse(bytes));
      }),
    );
  });

  test("bytes of any kind give the same events, and the same fault after them, at once as one by one", () => {
    const piece = fc.oneof(
      stream.map((text) => encoder.encode(text)),
      fc.constantFrom(
        ...["data: ä\n\n", "data: b\r\n\r\n", "x".repeat(50)].map((text) => encoder.encode(text)),
      ),
      fc.uint8Array({ maxLength: 3 }),
    );
    const outcome = (pieces: readonly Uint8Array[]) => {
      const parser = new SseParser({ maxEventBytes: 60 });
      const seen: unknown[] = [];
      try {
        for (const bytes of pieces) for (const event of parser.push(bytes)) seen.push(event);
      } catch (error) {
        seen.push((error as { code?: unknown }).code);
      }
      return seen;
    };
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const all = Uint8Array.from(pieces.flatMap((bytes) => [...bytes]));
        const expected = outcome(Array.from(all, (_, index) => all.subarray(index, index + 1)));
        expect(outcome([all])).toEqual(expected);
        expect(outcome(pieces)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test("reads back what formatSse writes", () => {
    const name = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[\r\n\0]/g, ""));
    const frame = fc.record({
      id: name,
      event: name.filter((text) => text !== ""),
      data: fc.string({ unit: "binary" }),
    });
    fc.assert(
      fc.property(fc.array(frame), (frames) => {
        expect(parseText(frames.map(formatSse).join(""))).toEqual(
          frames.map(({ id, event, data }) => ({ id, event, data: data.replaceAll(/\r\n?/g, "\n") })),
        );
      }),
    );
  });
});

describe("readSse", () => {
  test("reads a web stream, and cancels it when returned early", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(encoder.encode("data: x\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const event of readSse(body)) {
      expect(event.data).toBe("x");
      break;
    }
    expect(cancelled).toBe(true);
  });

  test("reads an async iterable and passes its errors on unchanged", async () => {
    const failure = new Error("reset");
    async function* body() {
      yield encoder.encode("data: x\n");
      yield encoder.encode("\n");
      throw failure;
    }
    const seen: string[] = [];
    await expect(async () => {
      for await (const event of readSse(body())) seen.push(event.data);
    }).rejects.toBe(failure);
    expect(seen).toEqual(["x"]);
  });
});

describe("a line that comes byte by byte", () => {
  test("is whole, however long, and leaves nothing in the lines behind it", () => {
    const parser = new SseParser();
    const long = "ä".repeat(50_000);
    const events = [];
    for (const byte of new TextEncoder().encode(`data: ${long}\n\ndata: b\n\n`))
      events.push(...parser.push(Uint8Array.of(byte)));
    expect(events).toEqual([{ data: long }, { data: "b" }]);
  });

  test("the limit counts whole lines as well as those in pieces", () => {
    for (const pieces of [["data: 12345\n"], ["data: ", "12345", "\n"]]) {
      const parser = new SseParser({ maxEventBytes: 10 });
      const feed = () => pieces.map((piece) => [...parser.push(new TextEncoder().encode(piece))]);
      expect(feed).toThrow(expect.objectContaining({ code: "too_large" }));
    }
  });

  test("an event's name with NUL is no name: it could not be written again", () => {
    const bytes = new TextEncoder().encode("event: a\0b\ndata: x\n\n");
    expect([...new SseParser().push(bytes)]).toEqual([{ data: "x" }]);
  });
});
