import { afterEach, describe, expect, it } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { ClientError } from "./client-error.js";
import { streamThread, type ThreadFrame, type ThreadStreamOptions } from "./event-stream.js";
import type { StreamState } from "./stream-state.js";

/** One connection that a test feeds by hand. */
class Connection {
  readonly headers: Headers;
  readonly url: string;
  aborted = false;
  cancelled = false;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      this.#controller = controller;
    },
    cancel: () => {
      this.cancelled = true;
    },
  });

  constructor(url: string, init: RequestInit) {
    this.url = url;
    this.headers = new Headers(init.headers);
    init.signal?.addEventListener("abort", () => {
      this.aborted = true;
    });
  }

  write(text: string): void {
    this.#controller.enqueue(new TextEncoder().encode(text));
  }

  frame(id: number | string, event: object = { type: "RAW" }): void {
    this.write(`id: ${id}\ndata: ${JSON.stringify(event)}\n\n`);
  }

  end(): void {
    this.#controller.close();
  }

  break(): void {
    this.#controller.error(new Error("socket hang up"));
  }
}

type Answer = "stream" | "silent" | "refused" | Response;

function host(...answers: Answer[]) {
  const connections: Connection[] = [];
  const fetchFunction: typeof fetch = async (url, init = {}) => {
    const connection = new Connection(String(url), init);
    connections.push(connection);
    const answer = answers[connections.length - 1] ?? "stream";
    if (answer === "refused") throw new TypeError("fetch failed");
    if (answer === "silent") return new Promise<never>(() => undefined);
    if (answer !== "stream") return answer;
    return new Response(connection.body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
  };
  return { connections, fetch: fetchFunction };
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

const abort = new Set<AbortController>();
afterEach(() => {
  for (const controller of abort) controller.abort();
  abort.clear();
});

function follow(answers: Answer[], options: Partial<ThreadStreamOptions> = {}) {
  const clock = new ManualClock();
  const states: StreamState[] = [];
  const frames: ThreadFrame[] = [];
  const controller = new AbortController();
  abort.add(controller);
  const { connections, fetch } = host(...answers);
  const stream = streamThread({
    baseUrl: "http://host/base/",
    threadId: "a/b",
    fetch,
    clock,
    random: () => 1,
    signal: controller.signal,
    onState: (state) => states.push(state),
    ...options,
  });
  const done = (async () => {
    for await (const frame of stream) frames.push(frame);
  })().then(
    () => "returned" as const,
    (error: unknown) => error,
  );
  const settle = () => clock.advance(0);
  const cursors = () => frames.map((frame) => frame.cursor);
  const connection = (index: number): Connection => {
    const found = connections[index];
    if (!found) throw new Error(`no connection ${index}`);
    return found;
  };
  return { clock, states, frames, cursors, controller, connections, connection, done, settle };
}

describe("a resuming stream", () => {
  it("asks for the whole thread, in the custom encoding, with the path escaped", async () => {
    const reader = follow(["stream"], { headers: { authorization: "Bearer x" } });
    await reader.settle();
    const first = reader.connection(0);
    expect(first.url).toBe("http://host/base/threads/a%2Fb/events?subagents=custom");
    expect(first.headers.get("accept")).toBe("text/event-stream");
    expect(first.headers.get("authorization")).toBe("Bearer x");
    expect(first.headers.has("last-event-id")).toBe(false);
  });

  it("delivers events with their cursors and goes on after the last one when the connection breaks", async () => {
    const reader = follow(["stream", "stream"]);
    await reader.settle();
    reader.connection(0).frame(1, { type: "RUN_STARTED" });
    reader.connection(0).frame(2);
    await reader.settle();
    reader.connection(0).break();
    await reader.settle();
    expect(reader.states.at(-1)).toEqual({
      status: "reconnecting",
      from: "2",
      attempt: 1,
      reason: expect.stringContaining("socket hang up"),
    });
    await reader.clock.advance(250);
    expect(reader.connection(1).headers.get("last-event-id")).toBe("2");
    reader.connection(1).frame(3);
    await reader.settle();
    expect(reader.cursors()).toEqual(["1", "2", "3"]);
    expect(reader.frames[0]?.event).toEqual({ type: "RUN_STARTED" });
  });

  it("an end of the stream without an error is a lost connection too (case 043)", async () => {
    const reader = follow(["stream", "stream"], { after: "7" });
    await reader.settle();
    reader.connection(0).end();
    await reader.clock.advance(250);
    expect(reader.connection(1).headers.get("last-event-id")).toBe("7");
  });

  it("drops what the host sends again, also above 2^53", async () => {
    const reader = follow(["stream", "stream"]);
    await reader.settle();
    reader.connection(0).frame("9007199254740993");
    reader.connection(0).frame("9007199254740994");
    await reader.settle();
    reader.connection(0).break();
    await reader.clock.advance(250);
    for (const id of ["9007199254740993", "9007199254740994", "9007199254740995"])
      reader.connection(1).frame(id);
    await reader.settle();
    expect(reader.cursors()).toEqual(["9007199254740993", "9007199254740994", "9007199254740995"]);
  });

  it("keeps a gap even when it carries the cursor that was asked for", async () => {
    const reader = follow(["stream"], { after: "5" });
    await reader.settle();
    const gap = { type: "CUSTOM", name: "stream.gap", value: { after: "5", resumesAt: "20" } };
    reader.connection(0).frame(5, gap);
    reader.connection(0).frame(20);
    await reader.settle();
    expect(reader.frames.map((frame) => frame.event)).toEqual([gap, { type: "RAW" }]);
  });

  it("waits longer with each failure, up to five seconds, and starts afresh after an event", async () => {
    const reader = follow([
      "refused",
      "refused",
      "refused",
      "refused",
      "refused",
      "refused",
      "refused",
      "stream",
      "stream",
    ]);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 7; attempt++) {
      await reader.settle();
      waits.push(reader.clock.next ?? -1);
      await reader.clock.advance(reader.clock.next ?? 0);
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
    reader.connection(7).frame(1);
    await reader.settle();
    reader.connection(7).break();
    await reader.settle();
    expect(reader.states.at(-1)).toMatchObject({ status: "reconnecting", attempt: 1 });
    expect(reader.clock.next).toBe(250);
  });

  it("spreads reconnects over half of the wait", async () => {
    const reader = follow(["refused"], { random: () => 0 });
    await reader.settle();
    expect(reader.clock.next).toBe(125);
  });

  it("waits as long as the host asks, within a bound", async () => {
    const reader = follow([json(503, {}, { "retry-after": "9" }), json(429, {}, { "retry-after": "9999" })]);
    await reader.settle();
    expect(reader.clock.next).toBe(9_000);
    await reader.clock.advance(9_000);
    expect(reader.clock.next).toBe(60_000);
  });

  it("gives a silent connection up, but not one that sends heartbeats (case 084)", async () => {
    const reader = follow(["stream", "stream"]);
    await reader.settle();
    for (let beat = 0; beat < 6; beat++) {
      await reader.clock.advance(15_000);
      reader.connection(0).write(": heartbeat\n\n");
      await reader.settle();
    }
    expect(reader.connections).toHaveLength(1);
    await reader.clock.advance(37_500);
    await reader.clock.advance(250);
    expect(reader.connections).toHaveLength(2);
    expect(reader.connection(0).aborted).toBe(true);
    expect(reader.connection(0).cancelled).toBe(true);
  });

  it("gives up a host that takes the connection and never answers", async () => {
    const reader = follow(["silent", "stream"]);
    await reader.clock.advance(37_500);
    await reader.clock.advance(250);
    expect(reader.connections).toHaveLength(2);
  });

  it("does not take its own slow reader for a silent host", async () => {
    const clock = new ManualClock();
    const { connections, fetch } = host("stream");
    const stream = streamThread({ baseUrl: "http://host", threadId: "t", fetch, clock });
    const first = stream.next();
    await clock.advance(0);
    connections[0]?.frame(1);
    await first;
    await clock.advance(120_000);
    connections[0]?.frame(2);
    expect((await stream.next()).value).toMatchObject({ cursor: "2" });
    expect(connections).toHaveLength(1);
    await stream.return();
    expect(clock.pending).toBe(0);
  });

  it.each([
    [400, "invalid_input"],
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "not_found"],
  ])("ends for good at status %i", async (status, code) => {
    const reader = follow([json(status, { error: { code: "thread_unknown", message: "No such thread." } })]);
    const error = await reader.done;
    expect(error).toBeInstanceOf(ClientError);
    expect(error).toMatchObject({ code, status, hostCode: "thread_unknown", message: "No such thread." });
    expect(reader.states.at(-1)).toEqual({ status: "ended", error });
    expect(reader.clock.pending).toBe(0);
  });

  it("ends when the answer is no event stream, such as a proxy's page", async () => {
    const reader = follow([new Response("<html>", { headers: { "content-type": "text/html" } })]);
    expect(await reader.done).toMatchObject({ code: "protocol_error" });
  });

  it("stops when told to, without an error and with nothing left behind (case 030)", async () => {
    const reader = follow(["stream"]);
    await reader.settle();
    reader.controller.abort();
    expect(await reader.done).toBe("returned");
    expect(reader.states.at(-1)).toEqual({ status: "ended" });
    expect(reader.connection(0).aborted).toBe(true);
    expect(reader.clock.pending).toBe(0);
  });

  it("stops while it waits to reconnect", async () => {
    const reader = follow(["refused"]);
    await reader.settle();
    reader.controller.abort();
    expect(await reader.done).toBe("returned");
    expect(reader.connections).toHaveLength(1);
    expect(reader.clock.pending).toBe(0);
  });

  it("says when it replays and when it is live: at a pause, or at an event newer than the connection", async () => {
    const reader = follow(["stream"]);
    await reader.settle();
    expect(reader.states.map((state) => state.status)).toEqual(["connecting"]);
    reader.connection(0).frame(1, { type: "RAW", timestamp: reader.clock.now() - 60_000 });
    await reader.settle();
    expect(reader.states.map((state) => state.status)).toEqual(["connecting", "replaying"]);
    reader.connection(0).frame(2, { type: "RAW", timestamp: reader.clock.now() + 5 });
    await reader.settle();
    expect(reader.states.map((state) => state.status)).toEqual(["connecting", "replaying", "live"]);

    const idle = follow(["stream"]);
    await idle.settle();
    idle.connection(0).frame(1, { type: "RAW", timestamp: idle.clock.now() - 60_000 });
    await idle.clock.advance(250);
    expect(idle.states.map((state) => state.status)).toEqual(["connecting", "replaying", "live"]);
  });

  it("turns an event that cannot be read into a notice at its place", async () => {
    const reader = follow(["stream"]);
    await reader.settle();
    reader.connection(0).write("id: 1\ndata: {broken\n\nid: 2\ndata: []\n\n");
    reader.connection(0).frame(3);
    await reader.settle();
    expect(reader.cursors()).toEqual(["1", "2", "3"]);
    expect(reader.frames[0]?.event).toMatchObject({ name: "notice", value: { code: "unreadable_event" } });
  });
});
