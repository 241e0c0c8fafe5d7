import { randomUUID } from "node:crypto";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Clock, Timer } from "../../core/clock.js";
import type { RunServer } from "./run-server.js";
import { SessionEvents } from "./session-events.js";

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly mcp: Server;
  readonly openStreams: Set<object>;
  gone?: Timer;
  /** When its last request came. */
  usedAt: number;
  closed?: true;
}

/** How long a session without any stream may take to resume, in milliseconds. */
const RESUME_WITHIN_MS = 10_000;
/** How long a session may be unused; most clients never end theirs. */
const IDLE_MS = 1_800_000;
/** What a client is told to wait before it resumes, in milliseconds. */
const RETRY_MS = 300;

/** The sessions of clients that speak 2025-11-25 or older, for one run. */
export class LegacySessions {
  readonly #sessions = new Map<string, Session>();

  constructor(
    private readonly server: RunServer,
    private readonly options: {
      readonly clock: Clock;
      readonly keepAliveMs: number;
      readonly maxBodySize: number;
      readonly sessionEnded?: () => void;
    },
  ) {}

  async handle(request: Request, parsedBody: unknown): Promise<Response> {
    this.#closeUnused();
    const id = request.headers.get("mcp-session-id");
    const session = id === null ? await this.#open(request, parsedBody) : this.#sessions.get(id);
    if (session instanceof Response) return session;
    // After a 404 the client initializes again and repeats its call under the same call id.
    if (session === undefined) return rpcError(404, -32001, "Session not found");
    session.usedAt = this.options.clock.now();
    return this.#watch(session, await session.transport.handleRequest(request, { parsedBody }));
  }

  toolsChanged(): void {
    for (const { mcp } of this.#sessions.values()) mcp.sendToolListChanged().catch(() => undefined);
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map(({ mcp }) => mcp.close()));
  }

  /** With each request, which is the only time when sessions become more. */
  #closeUnused(): void {
    const before = this.options.clock.now() - IDLE_MS;
    for (const [id, { mcp, openStreams, usedAt }] of this.#sessions) {
      if (usedAt > before || openStreams.size > 0) continue;
      this.#sessions.delete(id);
      void mcp.close().catch(() => undefined);
    }
  }

  async #open(request: Request, parsedBody: unknown): Promise<Session | Response> {
    const messages = [parsedBody].flat();
    const initializes = messages.some((message) => isRecord(message) && message.method === "initialize");
    if (request.method !== "POST" || !initializes)
      return rpcError(400, -32000, "Bad Request: Server not initialized");
    const { clock, keepAliveMs, maxBodySize } = this.options;
    const mcp = this.server.create("legacy");
    const events = new SessionEvents(clock);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: events,
      retryInterval: RETRY_MS,
      keepAliveMs,
      maxRequestBodySize: maxBodySize,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
    });
    const session: Session = { transport, mcp, openStreams: new Set(), usedAt: clock.now() };
    mcp.onclose = () => {
      session.closed = true;
      session.gone?.cancel();
      events.close();
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
      this.options.sessionEnded?.();
    };
    await mcp.connect(transport);
    return session;
  }

  /**
   * A stateful transport never aborts its handlers when sockets go. When the last stream of a session is lost and nothing comes
   * back, the session is closed, which does.
   */
  #watch(session: Session, response: Response): Response {
    session.gone?.cancel();
    if (response.body === null) return response;
    const reader = response.body.getReader();
    const stream = {};
    session.openStreams.add(stream);
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        session.openStreams.delete(stream);
        controller.close();
      },
      cancel: (reason) => {
        session.openStreams.delete(stream);
        if (session.openStreams.size === 0 && !session.closed) {
          session.gone = this.options.clock.timer(RESUME_WITHIN_MS, () => void session.mcp.close());
        }
        return reader.cancel(reason);
      },
    });
    return new Response(body, response);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
