import { expect, it } from "vitest";
import { wellFormed } from "../../src/core/text.js";
import { parseCursor } from "../../src/journal/journal.js";
import { AppBench } from "../support/app-bench.js";
import { FUZZ_LIMIT_MS, fuzz, must, type Random } from "./fuzz.js";

const IDS = [
  "0",
  "1",
  "007",
  "999999999999999",
  "1000000000000000",
  "-1",
  "+1",
  "1.0",
  "1e3",
  "0x10",
  " 1",
  "1 ",
  "١",
  "１",
  "1\u0000",
  "1,2",
  "1\r\nx: y",
  "Infinity",
];

function idOf(random: Random): string {
  if (random.chance(0.3)) return random.pick(IDS);
  if (random.chance(0.4)) return String(random.below(2 ** 31) * random.pick([1, 1_000, 10_000_000]));
  return random.text();
}

it(
  "any Last-Event-ID is a cursor in its one spelling, or none",
  async () => {
    let cursors = 0;
    await fuzz<string>({
      inputs: 200_000,
      generate: idOf,
      check(text) {
        const cursor = parseCursor(text);
        if (cursor === undefined) return;
        cursors++;
        must(/^(0|[1-9]\d{0,14})$/.test(cursor), "be a plain number");
        must(Number.isSafeInteger(Number(cursor)) && BigInt(text) === BigInt(cursor), "be the same number");
        must(parseCursor(cursor) === cursor, "be read as itself");
      },
    });
    expect(cursors).toBeGreaterThan(0);
  },
  FUZZ_LIMIT_MS,
);

it(
  "and the route answers with the stream from there, or with 400",
  async () => {
    const bench = new AppBench();
    await fuzz<string>({
      inputs: 10_000,
      generate: idOf,
      async check(text) {
        let headers = new Headers();
        try {
          headers = new Headers({ "last-event-id": text });
        } catch {
          // No header can carry it.
        }
        const seen = headers.get("last-event-id");
        const byHeader = await bench.fetch("/threads/t/events", { headers: Object.fromEntries(headers) });
        const byQuery = await bench.fetch(`/threads/t/events?after=${encodeURIComponent(wellFormed(text))}`);
        for (const [answer, sent] of [
          [byHeader, seen],
          [byQuery, wellFormed(text)],
        ] as const) {
          const taken = sent === null || sent === "" || parseCursor(sent) !== undefined;
          must(answer.status === (taken ? 200 : 400), `answer ${taken ? 200 : 400}`);
          await answer.body?.cancel();
        }
      },
    });
    await bench.clock.advance(0);
    expect(bench.clock.pending).toBe(0);
  },
  FUZZ_LIMIT_MS,
);
