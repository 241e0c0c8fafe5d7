import { describe, expect, test } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { formatSse, formatSseComment, sseResponse } from "./sse-writer.js";

const decoder = new TextDecoder();

describe("formatSse", () => {
  test("writes id, event and one data line per line", () => {
    expect(formatSse({ id: "12", event: "e", data: "a\r\nb\rc\nd" })).toBe(
      "id: 12\nevent: e\ndata: a\ndata: b\ndata: c\ndata: d\n\n",
    );
    expect(formatSse({ data: "" })).toBe("data: \n\n");
  });

  test.each(["a\nb", "a\rb", "a\0b"])("refuses %j in id, event and comment", (text) => {
    expect(() => formatSse({ id: text, data: "" })).toThrow(TypeError);
    expect(() => formatSse({ event: text, data: "" })).toThrow(TypeError);
    expect(() => formatSseComment(text)).toThrow(TypeError);
  });
});

describe("sseResponse", () => {
  /** A source whose items are handed out one by one; `asked` counts how often one was wanted. */
  function source() {
    const state = { asked: 0, returned: false };
    const waiting: ((result: IteratorResult<string>) => void)[] = [];
    return {
      state,
      give: (value: string) => waiting.shift()?.({ done: false, value }),
      end: () => waiting.shift()?.({ done: true, value: undefined }),
      iterable: {
        [Symbol.asyncIterator]: () => ({
          next: () => {
            state.asked++;
            return new Promise<IteratorResult<string>>((resolve) => waiting.push(resolve));
          },
          return: async () => {
            state.returned = true;
            return { done: true as const, value: undefined };
          },
        }),
      },
    };
  }

  function reader(response: Response) {
    const stream = response.body?.getReader();
    if (!stream) throw new Error("no body");
    return stream;
  }

  test("has the headers that keep proxies from buffering", () => {
    const { headers } = sseResponse(source().iterable, { clock: new ManualClock() });
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(headers.get("x-accel-buffering")).toBe("no");
  });

  test("takes the next frame only when the reader asks", async () => {
    const clock = new ManualClock();
    const { iterable, state, give } = source();
    const body = reader(sseResponse(iterable, { clock }));
    await clock.advance(0);
    expect(state.asked).toBe(0);
    const first = body.read();
    await clock.advance(0);
    expect(state.asked).toBe(1);
    give("data: 1\n\n");
    expect(decoder.decode((await first).value)).toBe("data: 1\n\n");
    await clock.advance(0);
    expect(state.asked).toBe(1);
    await body.cancel();
    expect(clock.pending).toBe(0);
  });

  test("case 084: beats while the source is silent, without losing the frame it waits for", async () => {
    const clock = new ManualClock();
    const { iterable, state, give, end } = source();
    const body = reader(sseResponse(iterable, { clock, heartbeatMs: 15_000 }));
    for (let beat = 0; beat < 3; beat++) {
      const read = body.read();
      await clock.advance(15_000);
      expect(decoder.decode((await read).value)).toBe(": hb\n\n");
    }
    expect(state.asked).toBe(1);
    const read = body.read();
    await clock.advance(14_999);
    give("data: x\n\n");
    expect(decoder.decode((await read).value)).toBe("data: x\n\n");
    const last = body.read();
    await clock.advance(0);
    end();
    expect((await last).done).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("case 082: pads heartbeats to 2 KB when asked", async () => {
    const clock = new ManualClock();
    const body = reader(sseResponse(source().iterable, { clock, heartbeatMs: 10, padHeartbeat: true }));
    const read = body.read();
    await clock.advance(10);
    const bytes = (await read).value;
    expect(bytes?.byteLength).toBeGreaterThanOrEqual(2048);
    expect(decoder.decode(bytes)).toMatch(/^: hb +\n\n$/);
    await body.cancel();
  });

  test("returns the source and reports the end when the reader leaves", async () => {
    const clock = new ManualClock();
    const { iterable, state } = source();
    let closed = 0;
    const body = reader(sseResponse(iterable, { clock, onClose: () => closed++ }));
    const read = body.read();
    await clock.advance(0);
    await body.cancel();
    expect((await read).done).toBe(true);
    expect(state.returned).toBe(true);
    expect(closed).toBe(1);
    expect(clock.pending).toBe(0);
  });

  test("ends when the signal aborts, and leaves no listener or timer", async () => {
    const clock = new ManualClock();
    const { iterable, state } = source();
    const controller = new AbortController();
    const body = reader(sseResponse(iterable, { clock, signal: controller.signal }));
    const read = body.read();
    await clock.advance(0);
    controller.abort();
    expect((await read).done).toBe(true);
    expect(state.returned).toBe(true);
    expect(clock.pending).toBe(0);
    const late = sseResponse(source().iterable, { clock, signal: controller.signal });
    expect(await late.text()).toBe("");
  });

  test("breaks off when the source fails, so that a client reconnects", async () => {
    const clock = new ManualClock();
    async function* failing() {
      yield "data: 1\n\n";
      throw new Error("gone");
    }
    const body = reader(sseResponse(failing(), { clock }));
    await body.read();
    await expect(body.read()).rejects.toThrow("gone");
    expect(clock.pending).toBe(0);
  });
});
