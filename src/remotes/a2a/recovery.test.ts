import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { RemoteAgent, RemoteSignal, RemoteTask } from "../../delegation/remote.js";
import { HurriedClock } from "../../testing/a2a/hurried-clock.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { a2a } from "./a2a.js";
import type { A2aOptions } from "./options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Json = Record<string, unknown>;
type Rpc = { readonly id: number; readonly method: string; readonly params: Json };

const ids = { taskId: "t-1", contextId: "c-1" };
const task: RemoteTask = {
  delegationId: "d-1",
  messageId: "m-1",
  text: "x",
  artifacts: [],
  metadata: {},
};

/** One event of the script. */
function chunk(artifactId: string, part: Json, append: boolean, lastChunk = false, name = ""): Json {
  return { artifactUpdate: { ...ids, artifact: { artifactId, name, parts: [part] }, append, lastChunk } };
}
function status(state: string, text?: string): Json {
  const message =
    text === undefined ? {} : { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text }] } };
  return { statusUpdate: { ...ids, status: { state: `TASK_STATE_${state}`, ...message } } };
}

/** 200 events: two texts, with chunks that are equal, status lines, and files that grow, are replaced, or come at once. */
function script(word: (index: number) => string): Json[] {
  const raw = (text: string) => ({ raw: Buffer.from(text).toString("base64"), filename: "big.bin" });
  const events: Json[] = [status("WORKING")];
  let fileChunks = 0;
  for (let index = 0; events.length < 196; index++) {
    const answer = events.length > 120;
    if (index % 17 === 5) events.push(status("WORKING", `line ${index}`));
    else if (index % 13 === 7) events.push(chunk("big", raw(`chunk ${index};`), fileChunks++ > 0));
    else if (index % 50 === 20) events.push(chunk("note", { text: `# ${index}` }, false, true, "note.md"));
    else events.push(chunk(answer ? "b" : "a", { text: word(index) }, true));
  }
  events.push(chunk("big", raw("the end"), true, true));
  events.push(chunk("data", { data: { n: 1 } }, false, true));
  events.push(chunk("b", { text: "!" }, true, true));
  events.push(status("COMPLETED", "All done"));
  return events;
}

/** What a task shows after `events`. `doubled`: the store repeats each text chunk that comes from there on. */
function snapshot(events: readonly Json[], doubled = Number.POSITIVE_INFINITY): Json {
  const artifacts = new Map<string, { artifactId: string; name: string; parts: Json[] }>();
  let current: unknown = { state: "TASK_STATE_SUBMITTED" };
  for (const [index, event] of events.entries()) {
    const update = event.artifactUpdate as
      | { artifact: { artifactId: string; name: string; parts: Json[] }; append: boolean }
      | undefined;
    if (update === undefined) current = (event.statusUpdate as Json).status;
    else {
      const { artifact, append } = update;
      const before = append ? (artifacts.get(artifact.artifactId)?.parts ?? []) : [];
      const again = index >= doubled && append ? artifact.parts : [];
      artifacts.set(artifact.artifactId, {
        ...artifact,
        parts: [...before, ...artifact.parts, ...again],
      });
    }
  }
  return { id: "t-1", contextId: "c-1", status: current, artifacts: [...artifacts.values()] };
}

interface AgentState {
  /** Events that have happened. */
  position: number;
  readonly calls: Rpc[];
}

/** An agent of version 1.0 whose answers are written by hand. */
async function serve(answer: (rpc: Rpc, response: ServerResponse, state: AgentState) => void) {
  const state: AgentState = { position: 0, calls: [] };
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    if (request.method === "GET") {
      return void response.end(
        JSON.stringify({
          name: "Log",
          supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
          capabilities: { streaming: true },
        }),
      );
    }
    let body = "";
    request.on("data", (bytes) => (body += bytes));
    request.on("end", () => {
      const rpc = JSON.parse(body) as Rpc;
      state.calls.push(rpc);
      answer(rpc, response, state);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cleanups.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return { url, state };
}

const frame = (rpc: Rpc, result: unknown) =>
  `data: ${JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result })}\n\n`;
function stream(rpc: Rpc, response: ServerResponse, results: readonly unknown[], end = true): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(results.map((result) => frame(rpc, result)).join(""));
  if (end) response.end();
}
function reply(rpc: Rpc, response: ServerResponse, result: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result }));
}
function refuse(rpc: Rpc, response: ServerResponse, code: number): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, error: { code, message: "no" } }));
}

function remote(url: string, more: Partial<A2aOptions> = {}): RemoteAgent {
  const agent = a2a({
    name: "research",
    agentCardUrl: `${url}/card.json`,
    clock: new HurriedClock(),
    random: () => 0.5,
    ...more,
  });
  cleanups.push(() => agent.close());
  return agent;
}

const never = () => new AbortController().signal;
async function collect(signals: AsyncIterable<RemoteSignal>): Promise<RemoteSignal[]> {
  const all: RemoteSignal[] = [];
  for await (const signal of signals) all.push(signal);
  return all;
}

const FINAL = new Set(["completed", "failed", "rejected", "cancelled", "disconnected"]);

/** What is left when all is over: texts, files, and how it ended. */
function outcome(signals: readonly RemoteSignal[]) {
  const texts: Record<string, string> = {};
  const files: Record<string, string> = {};
  for (const signal of signals) {
    if (signal.type === "text") texts[signal.messageId] = (texts[signal.messageId] ?? "") + signal.delta;
    if (signal.type === "artifact") {
      const { id, mode, bytes } = signal.chunk;
      const before = mode === "replace" ? "" : (files[id] ?? "");
      files[id] = before + Buffer.from(bytes).toString();
    }
  }
  return { texts, files, ends: signals.filter(({ type }) => FINAL.has(type)) };
}
const reconnects = (signals: readonly RemoteSignal[]) =>
  signals.filter((signal) => signal.type === "status" && signal.status === "reconnecting").length;

describe("a stream that is dropped at every event of 200", () => {
  const equal = (index: number) => (index % 3 === 0 ? "ha " : `w${index} `);
  const different = (index: number) => `w${index} `;
  const first = { task: { id: "t-1", contextId: "c-1", status: { state: "TASK_STATE_SUBMITTED" } } };

  /** `after`: how many events happen while nobody listens. */
  type Way = {
    readonly name: string;
    readonly word: (index: number) => string;
    readonly rejoin: (
      rpc: Rpc,
      response: ServerResponse,
      state: AgentState,
      events: readonly Json[],
      after: number,
    ) => void;
    readonly stored?: (state: AgentState, events: readonly Json[]) => Json;
  };
  const ways: Way[] = [
    {
      name: "a subscription that begins with the task",
      word: equal,
      rejoin(rpc, response, state, events, after) {
        state.position = Math.min(state.position + after, events.length - 1);
        stream(rpc, response, [
          { task: snapshot(events.slice(0, state.position)) },
          ...events.slice(state.position),
        ]);
        state.position = events.length;
      },
    },
    {
      name: "polling, because it cannot be subscribed to",
      word: equal,
      rejoin: (rpc, response, state) => refuse(rpc, response, state.position % 2 ? -32601 : -32603),
    },
    {
      name: "case 055: a subscription without the task, and a store that repeats every chunk from then on",
      word: different,
      rejoin(rpc, response, state, events, after) {
        state.position = Math.min(state.position + after, events.length - 1);
        Object.assign(state, { doubled: state.position });
        const rest = events.slice(state.position);
        // The first event is in the store by the time it is on the stream.
        state.position++;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(frame(rpc, rest[0]));
        Object.assign(state, {
          onLook: () => {
            state.position = events.length;
            response.end(
              rest
                .slice(1)
                .map((event) => frame(rpc, event))
                .join(""),
            );
            Object.assign(state, { onLook: undefined });
          },
        });
      },
    },
  ];

  test.each(ways)("$name", async ({ name, word, rejoin }) => {
    const canSubscribe = !name.startsWith("polling");
    const events = script(word);
    expect(events).toHaveLength(200);
    const whole = await serve((rpc, response) => stream(rpc, response, [first, ...events]));
    const expected = outcome(await collect(remote(whole.url).start(task, never())));
    expect(expected.ends).toEqual([{ type: "completed", message: "All done" }]);

    let cut = 0;
    let after = 0;
    const { url, state } = await serve((rpc, response, agent) => {
      const extra = agent as AgentState & { doubled?: number; onLook?: () => void };
      switch (rpc.method) {
        case "SendStreamingMessage":
          agent.position = cut;
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.write([first, ...events.slice(0, cut)].map((event) => frame(rpc, event)).join(""), () =>
            cut % 2 ? response.end() : response.socket?.destroy(),
          );
          break;
        case "GetTask":
          // In the third way nothing happens between the first event of a subscription and the look for what came before.
          if (extra.onLook === undefined)
            agent.position = Math.min(agent.position + (canSubscribe ? after : after * 9), events.length);
          reply(rpc, response, snapshot(events.slice(0, agent.position), extra.doubled));
          extra.onLook?.();
          break;
        case "SubscribeToTask":
          rejoin(rpc, response, agent, events, after);
          break;
      }
    });
    const research = remote(url);
    for (cut = 0; cut < events.length; cut++) {
      after = 1 + (cut % 7);
      Object.assign(state, { doubled: undefined, onLook: undefined });
      state.calls.length = 0;
      const signals = await collect(research.start(task, never()));
      expect({ cut, ...outcome(signals) }).toEqual({ cut, ...expected });
      expect(reconnects(signals)).toBe(1);
      expect(state.calls.filter(({ method }) => method === "SendStreamingMessage")).toHaveLength(1);
      expect(state.calls[1]?.method).toBe("GetTask");
    }
  });
});

describe("what a drop does to a task", () => {
  const working = { task: { id: "t-1", contextId: "c-1", status: { state: "TASK_STATE_WORKING" } } };
  const said = (state: string, text: string) => ({
    id: "t-1",
    contextId: "c-1",
    status: { state, message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text }] } },
  });

  test("it is cancelled: that is told as the remote's own doing", async () => {
    const { url } = await serve((rpc, response) =>
      rpc.method === "GetTask"
        ? reply(rpc, response, said("TASK_STATE_CANCELED", "The request was aborted."))
        : stream(rpc, response, [working]),
    );
    const signals = await collect(remote(url).start(task, never()));
    expect(signals.at(-1)).toEqual({ type: "cancelled", message: "The request was aborted." });
  });

  test("it is parked: nobody is asked anything, it has failed and may be tried again", async () => {
    const { url } = await serve((rpc, response) =>
      rpc.method === "GetTask"
        ? reply(rpc, response, said("TASK_STATE_INPUT_REQUIRED", "Execution aborted by client."))
        : stream(rpc, response, [working]),
    );
    const signals = await collect(remote(url).start(task, never()));
    expect(signals.at(-1)).toMatchObject({
      type: "failed",
      code: "stream_interrupted",
      retryable: true,
      message: expect.stringContaining("Execution aborted by client."),
    });
    expect(signals.map(({ type }) => type)).not.toContain("completed");
  });

  test("it hangs as working for ever: the quiet limit ends that, on our own clock", async () => {
    const clock = new ManualClock();
    const { url } = await serve((rpc, response) => {
      if (rpc.method === "GetTask") return reply(rpc, response, said("TASK_STATE_WORKING", "Busy"));
      if (rpc.method === "SubscribeToTask") return refuse(rpc, response, -32601);
      stream(rpc, response, [working]);
    });
    const signals: RemoteSignal[] = [];
    const reading = (async () => {
      for await (const signal of remote(url, { clock, limits: { quietMs: 60_000 } }).start(task, never()))
        signals.push(signal);
    })();
    let over = false;
    void reading.then(() => {
      over = true;
    });
    const before = clock.now();
    while (!over) await clock.advance(250);
    expect(signals.at(-1)).toMatchObject({ type: "failed", code: "remote_timeout", retryable: true });
    expect(clock.now() - before).toBeGreaterThanOrEqual(60_000);
    // What it says again and again is shown once.
    expect(signals.filter((signal) => signal.type === "status" && signal.message === "Busy")).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  test("it is gone: the agent does not know the task any more", async () => {
    const { url } = await serve((rpc, response) =>
      rpc.method === "GetTask" ? refuse(rpc, response, -32001) : stream(rpc, response, [working]),
    );
    const signals = await collect(remote(url).start(task, never()));
    expect(signals.at(-1)).toMatchObject({
      type: "failed",
      code: "remote_failed",
      remoteStatus: "not-found",
    });
  });

  test("the agent is out of reach for too long: the bound ends that", async () => {
    const clock = new ManualClock();
    const { url, state } = await serve((rpc, response) =>
      rpc.method === "GetTask" ? response.socket?.destroy() : stream(rpc, response, [working]),
    );
    const signals: RemoteSignal[] = [];
    let over = false;
    void (async () => {
      for await (const signal of remote(url, { clock, limits: { recoveryMs: 20_000 } }).start(task, never()))
        signals.push(signal);
      over = true;
    })();
    while (!over) await clock.advance(250);
    expect(signals.at(-1)).toMatchObject({ type: "disconnected", message: expect.stringContaining("broke") });
    expect(reconnects(signals)).toBe(1);
    const looks = state.calls.filter(({ method }) => method === "GetTask").length;
    expect(looks).toBeGreaterThan(3);
    expect(looks).toBeLessThan(20);
  });

  test("a task that waits for a sign-in is watched after its stream was closed", async () => {
    let looks = 0;
    const { url, state } = await serve((rpc, response) => {
      if (rpc.method !== "GetTask")
        return stream(rpc, response, [working, status("AUTH_REQUIRED", "Sign in")]);
      reply(
        rpc,
        response,
        ++looks < 3 ? said("TASK_STATE_AUTH_REQUIRED", "Sign in") : said("TASK_STATE_COMPLETED", "Done"),
      );
    });
    const signals = await collect(remote(url).start(task, never()));
    expect(
      signals.filter(({ type }) => type !== "accepted" && type !== "status").map(({ type }) => type),
    ).toEqual(["auth_required", "completed"]);
    expect(reconnects(signals)).toBe(0);
    expect(state.calls.filter(({ method }) => method === "SubscribeToTask")).toEqual([]);
  });
});

describe("a send that was certainly not received", () => {
  test.each([429, 503])("HTTP %i with a short Retry-After is sent again, the same message", async (code) => {
    let tries = 0;
    const { url, state } = await serve((rpc, response) => {
      if (++tries < 3) return void response.writeHead(code, { "retry-after": "1" }).end();
      stream(rpc, response, [
        { task: { id: "t-1", contextId: "c-1", status: { state: "TASK_STATE_COMPLETED" } } },
      ]);
    });
    const clock = new HurriedClock();
    const signals = await collect(remote(url, { clock }).start(task, never()));
    expect(signals.at(-1)?.type).toBe("completed");
    const sent = state.calls.map(({ params }) => (params.message as Json).messageId);
    expect(sent).toEqual(["m-1", "m-1", "m-1"]);
    expect(clock.pauses.filter((pause) => pause === 1_000)).toHaveLength(2);
  });

  test.each([500, 502, 504])("HTTP %i may mean that it runs: never again", async (code) => {
    const { url, state } = await serve((_rpc, response) => void response.writeHead(code).end());
    const signals = await collect(remote(url).start(task, never()));
    expect(signals).toHaveLength(1);
    expect(state.calls).toHaveLength(1);
  });
});
