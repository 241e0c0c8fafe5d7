import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

/** The policy that a host serves the console with; a page that breaks it fails its test. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A run that the page started. */
export interface ScriptedRun {
  readonly threadId: string;
  readonly runId: string;
  readonly text: string;
  /** Aborts when the page asks to stop the run. */
  readonly cancelled: AbortSignal;
  emit(event: Record<string, unknown>): void;
  /** Emits a CUSTOM event. */
  custom(name: string, value: object): void;
}

/** A request that the page made. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly lastEventId: string | undefined;
}

/** Options of {@link startScriptedHost}. */
export interface ScriptedHostOptions {
  /** Where the built console is. */
  readonly directory: string;
  readonly port?: number;
  readonly agents?: unknown;
  readonly onRun: (run: ScriptedRun) => void;
  readonly onRequest?: (request: SeenRequest) => void;
}

/** A host with no agents behind it: it serves the page, keeps one journal per thread and plays what a test tells it. */
export interface ScriptedHost {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Puts events into a thread that no page has started; the first is its run's start. */
  fill(threadId: string, events: readonly Record<string, unknown>[]): void;
  /** Cuts every open stream, as a proxy would. */
  dropStreams(): void;
  /** While false, new streams are refused with 503. */
  setAvailable(available: boolean): void;
  close(): Promise<void>;
}

const AGENTS = {
  agents: [{ key: "claude", driver: "claude" }],
  subAgents: [
    {
      key: "research",
      name: "Research Agent",
      protocol: "a2a",
      description: "Finds and compares sources, and writes notes.",
      skills: [{ id: "research", name: "Research" }],
      status: "ready",
    },
  ],
};

interface ThreadRecord {
  readonly frames: string[];
  readonly events: Record<string, unknown>[];
  readonly readers: Set<ServerResponse>;
}

export async function startScriptedHost(options: ScriptedHostOptions): Promise<ScriptedHost> {
  const threads = new Map<string, ThreadRecord>();
  const runs = new Map<string, AbortController>();
  const streams = new Set<ServerResponse>();
  const requests: SeenRequest[] = [];
  let available = true;

  const thread = (threadId: string): ThreadRecord => {
    const known = threads.get(threadId) ?? { frames: [], events: [], readers: new Set() };
    threads.set(threadId, known);
    return known;
  };

  function emit(threadId: string, event: Record<string, unknown>): void {
    const { frames, events, readers } = thread(threadId);
    const timed = { timestamp: Date.now(), ...event };
    const frame = `id: ${frames.length + 1}\ndata: ${JSON.stringify(timed)}\n\n`;
    frames.push(frame);
    events.push(timed);
    for (const reader of readers) reader.write(frame);
  }

  function openStream(threadId: string, after: number, response: ServerResponse): void {
    if (!available) {
      response.writeHead(503).end();
      return;
    }
    const record = thread(threadId);
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
    });
    response.write(": open\n\n");
    for (const frame of record.frames.slice(after)) response.write(frame);
    record.readers.add(response);
    streams.add(response);
    response.on("close", () => {
      record.readers.delete(response);
      streams.delete(response);
    });
  }

  function startRun(body: Record<string, unknown>, response: ServerResponse): void {
    const threadId = String(body.threadId);
    const runId = String(body.runId);
    const messages = body.messages as { content: string }[];
    openStream(threadId, thread(threadId).frames.length, response);
    if (runs.has(runId)) return;
    const controller = new AbortController();
    runs.set(runId, controller);
    emit(threadId, { type: "RUN_STARTED", threadId, runId, input: { messages } });
    options.onRun({
      threadId,
      runId,
      text: messages.at(-1)?.content ?? "",
      cancelled: controller.signal,
      emit: (event) => emit(threadId, event),
      custom: (name, value) => emit(threadId, { type: "CUSTOM", name, value }),
    });
  }

  /** As a host lists them: those with a run, the latest first. */
  function listThreads(): unknown {
    const listed = [...threads].flatMap(([threadId, { events }]) => {
      const started = events.filter(({ type }) => type === "RUN_STARTED");
      const [first, last] = [started[0], started.at(-1)];
      if (!first || !last) return [];
      const over = events.some(({ type, runId }) => type === "RUN_FINISHED" && runId === last.runId);
      const { messages } = first.input as { messages: { content: string }[] };
      const { runId, timestamp: startedAt } = last;
      const run = { runId, agent: "claude", status: over ? "finished" : "running", startedAt };
      return [{ threadId, title: messages.at(-1)?.content ?? "", run, runs: started.length, detached: 0 }];
    });
    return {
      threads: listed.sort((left, right) => Number(right.run.startedAt) - Number(left.run.startedAt)),
    };
  }

  /** As a host has it on record: everything but the text. */
  function delegationRecord(delegationId: string): unknown {
    for (const { events } of threads.values()) {
      const history = events.flatMap(({ type, name, value, timestamp }, index) => {
        const told = (value ?? {}) as Record<string, unknown>;
        if (type !== "CUSTOM" || told.delegationId !== delegationId || "delta" in told) return [];
        const audit = name === "subagent.started" ? { audit: { tool: "delegate_to_agent", size: 7 } } : {};
        return [{ cursor: String(index + 1), time: timestamp, type: name, status: told.status, ...audit }];
      });
      if (history.length > 0) return { delegationId, history };
    }
    return undefined;
  }

  async function serveFile(path: string, response: ServerResponse): Promise<void> {
    const file = normalize(path === "/" ? "/index.html" : path);
    try {
      const bytes = await readFile(join(options.directory, file));
      response.writeHead(200, {
        "content-type": MEDIA_TYPES[extname(file)] ?? "application/octet-stream",
        "content-security-policy": CONTENT_SECURITY_POLICY,
        "x-content-type-options": "nosniff",
      });
      response.end(bytes);
    } catch {
      json(response, 404, { error: { code: "not_found", message: "Nothing is here." } });
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://host");
    const lastEventId = request.headers["last-event-id"]?.toString();
    const body = request.method === "POST" ? await readJson(request) : undefined;
    const seen: SeenRequest = { method: request.method ?? "", path: pathname, body, lastEventId };
    requests.push(seen);
    const events = /^\/threads\/([^/]+)\/events$/.exec(pathname);
    const record = /^\/delegations\/([^/]+)$/.exec(pathname);
    const cancelRun = /^\/runs\/([^/]+)\/cancel$/.exec(pathname);
    if (pathname === "/agents") json(response, 200, options.agents ?? AGENTS);
    else if (pathname === "/threads") json(response, 200, listThreads());
    else if (record?.[1] && request.method === "GET") {
      const found = delegationRecord(record[1]);
      json(response, found ? 200 : 404, found ?? { error: { code: "not_found", message: "Nothing." } });
    } else if (events?.[1]) {
      openStream(
        decodeURIComponent(events[1]),
        Number(lastEventId ?? searchParams.get("after") ?? 0),
        response,
      );
    } else if (/^\/agents\/[^/]+\/run$/.test(pathname)) startRun(body as Record<string, unknown>, response);
    else if (/\/artifacts\//.test(pathname)) {
      response.writeHead(200, {
        "content-type": "text/markdown",
        "content-disposition": 'attachment; filename="notes.md"',
      });
      response.end("# Notes\n");
    } else if (request.method === "POST") {
      if (cancelRun?.[1]) runs.get(cancelRun[1])?.abort();
      options.onRequest?.(seen);
      response.writeHead(202).end();
    } else await serveFile(pathname, response);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const dropStreams = () => {
    for (const stream of streams) stream.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    fill: (threadId, events) => {
      for (const event of events) emit(threadId, event);
    },
    dropStreams,
    setAvailable: (value) => {
      available = value;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString("utf8") || "{}");
}
