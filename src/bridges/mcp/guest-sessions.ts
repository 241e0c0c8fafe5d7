import { z } from "zod";
import type { Clock, Timer } from "../../core/clock.js";
import { createRunEntry, type RunEntry, type RunEntryOptions } from "./run-entry.js";
import type { McpToolset } from "./tool.js";

/** Serves a guest until it resolves. `signal` aborts when its run is cancelled. */
export type ServeGuest = (toolset: McpToolset, signal: AbortSignal) => Promise<void>;

/** Lets in clients that no run of this host started, each with a run of its own. */
export interface GuestDoor {
  /** @returns `undefined` for a token that lets nobody in, else what tells whether it still does. */
  admit(token: string): (() => boolean) | undefined;
  /**
   * Opens a run whose tools `serve` gets.
   * @returns when the run is over.
   * @throws TroupeError why there can be none.
   */
  open(serve: ServeGuest): Promise<void>;
  /** Tells when the tools are others than before. @returns what stops that. */
  onToolsChanged(listener: () => void): () => void;
}

/** How long a session is kept that nothing is open to, in milliseconds. Most clients never say goodbye. */
const IDLE_MS = 600_000;
/** The same, when its last connection broke. */
const LOST_MS = 10_000;
/** Guests at once. */
const MAX_GUESTS = 64;

/** Names a client's session where the protocol has none, as 2026-07-28. */
const SESSION_HEADER = "troupe-session";

const modernCall = z.object({
  params: z.object({
    _meta: z.object({
      "io.modelcontextprotocol/clientInfo": z.object({ name: z.string().max(200) }),
    }),
  }),
});

/** One guest: its run's tools over HTTP, as long as it comes. */
class Guest {
  #open = 0;
  #timer: Timer | undefined;
  #end: () => void = () => undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  private constructor(
    private readonly clock: Clock,
    private readonly isAdmitted: () => boolean,
  ) {}

  /** Resolves when the guest's run has begun. @throws TroupeError why it has not. */
  static async open(
    door: GuestDoor,
    options: RunEntryOptions & { readonly over: () => void; readonly isAdmitted: () => boolean },
  ): Promise<{ guest: Guest; entry: RunEntry }> {
    const guest = new Guest(options.clock, options.isAdmitted);
    return new Promise((resolve, reject) => {
      const serve: ServeGuest = async (toolset, signal) => {
        const entry = createRunEntry(toolset, { ...options, sessionEnded: () => guest.end() });
        const ignoreChanges = door.onToolsChanged(() => {
          entry.modern.notify.toolsChanged();
          entry.legacy.toolsChanged();
        });
        const onAbort = () => guest.end();
        signal.addEventListener("abort", onAbort, { once: true });
        guest.#leaveAlone(IDLE_MS);
        resolve({ guest, entry });
        await guest.#ended;
        options.over();
        ignoreChanges();
        signal.removeEventListener("abort", onAbort);
        // Of a cancelled run every call gets its answer; else whoever called is gone.
        if (signal.aborted) await entry.server.lastAnswers();
        await entry.modern.close();
        await entry.legacy.close();
      };
      door.open(serve).then(() => reject(new Error("The run is over.")), reject);
    });
  }

  end(): void {
    this.#timer?.cancel();
    this.#end();
  }

  /** Keeps the guest as long as an answer is being read. */
  async watch(answer: Promise<Response>): Promise<Response> {
    this.#came();
    let lost = false;
    const left = () => {
      this.#open--;
      if (this.#open === 0) this.#leaveAlone(lost ? LOST_MS : IDLE_MS);
    };
    const response = await answer.catch((error: unknown) => {
      left();
      throw error;
    });
    if (response.body === null) {
      left();
      return response;
    }
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        left();
        controller.close();
      },
      cancel(reason) {
        lost = true;
        left();
        return reader.cancel(reason);
      },
    });
    return new Response(body, response);
  }

  /** Looks whether the token is still good. */
  checkAdmission(): void {
    if (!this.isAdmitted()) this.end();
  }

  #came(): void {
    this.#open++;
    this.#timer?.cancel();
  }

  #leaveAlone(milliseconds: number): void {
    this.#timer?.cancel();
    this.#timer = this.clock.timer(milliseconds, () => this.end());
  }
}

/** Answers the requests of whoever came with a good token. */
export type Admitted = (request: Request, parsedBody: unknown, era: "modern" | "legacy") => Promise<Response>;

type OpenGuest = Promise<{ readonly guest: Guest; readonly entry: RunEntry }>;

/** The sessions of clients that come with another token than a run's. */
export class GuestSessions {
  /** By session id, or by what else tells clients apart. */
  readonly #guests = new Map<string, OpenGuest>();
  readonly #all = new Set<OpenGuest>();
  #timer: Timer | undefined;

  constructor(
    private readonly door: GuestDoor,
    private readonly options: RunEntryOptions,
  ) {}

  /** @returns what answers requests with this token; `undefined` when it lets nobody in. */
  admit(token: string): Admitted | undefined {
    const isAdmitted = this.door.admit(token);
    return isAdmitted && ((...request) => this.#handle(isAdmitted, ...request));
  }

  async #handle(isAdmitted: () => boolean, ...[request, body, era]: Parameters<Admitted>): Promise<Response> {
    try {
      return era === "modern"
        ? await this.#modern(request, body, isAdmitted)
        : await this.#legacy(request, body, isAdmitted);
    } catch (error) {
      this.options.onError?.(error instanceof Error ? error : new Error(String(error)));
      return rpcError(503, -32000, "The host takes no more clients now");
    }
  }

  close(): void {
    this.#timer?.cancel();
    for (const opening of this.#all) opening.then(({ guest }) => guest.end()).catch(() => undefined);
  }

  async #modern(request: Request, parsedBody: unknown, isAdmitted: () => boolean): Promise<Response> {
    const named = request.headers.get(SESSION_HEADER);
    const call = modernCall.safeParse(parsedBody).data;
    const client = call?.params._meta["io.modelcontextprotocol/clientInfo"].name ?? "";
    const key = named === null ? `client ${client}` : `named ${named.slice(0, 200)}`;
    let opening = this.#guests.get(key);
    if (opening === undefined) {
      opening = this.#open(isAdmitted, () => this.#guests.delete(key));
      this.#guests.set(key, opening);
      opening.catch(() => this.#guests.delete(key));
    }
    const { guest, entry } = await opening;
    return guest.watch(entry.modern.fetch(request, { parsedBody }));
  }

  async #legacy(request: Request, parsedBody: unknown, isAdmitted: () => boolean): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const known = await this.#guests.get(`session ${id}`);
      if (known === undefined) return rpcError(404, -32001, "Session not found");
      return known.guest.watch(known.entry.legacy.handle(request, parsedBody));
    }
    if (!initializes(parsedBody)) return rpcError(400, -32000, "Bad Request: Server not initialized");
    let key: string | undefined;
    const opening = this.#open(isAdmitted, () => {
      if (key !== undefined) this.#guests.delete(key);
    });
    const { guest, entry } = await opening;
    const response = await guest.watch(entry.legacy.handle(request, parsedBody));
    const session = response.headers.get("mcp-session-id");
    if (session === null) guest.end();
    else {
      key = `session ${session}`;
      this.#guests.set(key, opening);
    }
    return response;
  }

  #open(isAdmitted: () => boolean, over: () => void): OpenGuest {
    if (this.#all.size >= MAX_GUESTS) return Promise.reject(new Error("There are too many clients."));
    const opening: OpenGuest = Guest.open(this.door, {
      ...this.options,
      isAdmitted,
      over: () => {
        this.#all.delete(opening);
        over();
      },
    });
    this.#all.add(opening);
    opening.catch(() => this.#all.delete(opening));
    this.#watchTokens();
    return opening;
  }

  /** A token that is revoked ends what it opened, within moments. */
  #watchTokens(): void {
    this.#timer ??= this.options.clock.timer(CHECK_MS, () => {
      this.#timer = undefined;
      for (const opening of this.#all)
        opening.then(({ guest }) => guest.checkAdmission()).catch(() => undefined);
      if (this.#all.size > 0) this.#watchTokens();
    });
  }
}

/** How often open sessions are checked for a token that was revoked, in milliseconds. */
export const CHECK_MS = 1_000;

function initializes(parsedBody: unknown): boolean {
  return [parsedBody]
    .flat()
    .some(
      (message) =>
        typeof message === "object" &&
        message !== null &&
        "method" in message &&
        message.method === "initialize",
    );
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
