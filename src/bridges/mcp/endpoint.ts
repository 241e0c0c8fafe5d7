import {
  bearerAuthChallengeResponse,
  hostHeaderValidationResponse,
  isJsonContentType,
  isLegacyRequest,
  localhostAllowedHostnames,
  OAuthError,
  OAuthErrorCode,
  originValidationResponse,
  PROTOCOL_VERSION_META_KEY,
  preloadSchemas,
  readRequestBody,
  verifyBearerToken,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.js";
import { type Admitted, type GuestDoor, GuestSessions } from "./guest-sessions.js";
import { createRunEntry, MAX_BODY, type RunEntry } from "./run-entry.js";
import { RunTokens } from "./run-tokens.js";
import type { McpToolset } from "./tool.js";

/** Options of an {@link McpEndpoint}. */
export interface McpEndpointOptions {
  readonly clock: Clock;
  /** Told to the model by clients that pass it on. */
  readonly instructions: string;
  readonly version: string;
  /** Protocol trouble that no caller sees; never holds a token. */
  readonly onError?: (error: Error) => void;
  /** Lets in clients that no run of this host started. */
  readonly guests?: GuestDoor;
}

/**
 * The MCP endpoint of a host: one URL, a bearer token per run, both protocol eras. Clients of 2026-07-28 (Claude Code) get a
 * server per request; older ones (Codex, Gemini, OpenCode) get sessions that survive a dropped socket.
 */
export class McpEndpoint {
  readonly #runs = new RunTokens<RunEntry>();
  readonly #open = new Set<RunEntry>();
  readonly #guests: GuestSessions | undefined;

  constructor(private readonly options: McpEndpointOptions) {
    preloadSchemas();
    this.#guests = options.guests && new GuestSessions(options.guests, options);
  }

  /** Opens the endpoint to the holder of `token`. */
  addRun(
    token: string,
    toolset: McpToolset,
  ): { toolsChanged(): void; revoke(): void; close(): Promise<void> } {
    const entry = createRunEntry(toolset, this.options);
    const { server, modern, legacy } = entry;
    const revoke = this.#runs.add(token, entry);
    this.#open.add(entry);
    return {
      toolsChanged: () => {
        modern.notify.toolsChanged();
        legacy.toolsChanged();
      },
      revoke,
      // The open calls have to be answered before: a stream that ends without a result makes Claude Code wait for minutes.
      close: async () => {
        revoke();
        this.#open.delete(entry);
        await server.settled();
        await modern.close();
        await legacy.close();
      },
    };
  }

  /** Answers one HTTP request. */
  readonly fetch = async (request: Request): Promise<Response> => {
    // A CLI sends no Origin; whoever does is a browser, and no page has business here.
    const foreign =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, []);
    if (foreign !== undefined) return foreign;
    let holder: RunEntry | Admitted;
    try {
      holder = await this.#authorise(request.headers.get("authorization"));
    } catch {
      // The same answer for a token that is missing, wrong or stale: nobody learns what exists.
      return bearerAuthChallengeResponse(notValid());
    }
    if (request.method !== "POST") return this.#answer(holder, request, undefined, "legacy");
    if (!isJsonContentType(request.headers.get("content-type")))
      return rpcError(415, -32000, "Content-Type must be application/json");
    const body = await readBody(request);
    if (body.tooLarge) return rpcError(413, -32000, "The request is too large");
    let parsed: unknown;
    try {
      parsed = JSON.parse(body.text);
    } catch {
      return rpcError(400, -32700, "Parse error");
    }
    const legacy = !isModernCall(parsed) && (await isLegacyRequest(request, parsed));
    return this.#answer(holder, request, parsed, legacy ? "legacy" : "modern");
  };

  #answer(
    holder: RunEntry | Admitted,
    request: Request,
    parsedBody: unknown,
    era: "modern" | "legacy",
  ): Promise<Response> {
    if (typeof holder === "function") return holder(request, parsedBody, era);
    if (era === "legacy") return holder.legacy.handle(request, parsedBody);
    return holder.modern.fetch(request, { parsedBody });
  }

  /** Closes what runs left open. */
  async close(): Promise<void> {
    this.#guests?.close();
    await Promise.allSettled(
      [...this.#open].flatMap(({ modern, legacy }) => [modern.close(), legacy.close()]),
    );
  }

  async #authorise(header: string | null): Promise<RunEntry | Admitted> {
    let found: RunEntry | Admitted | undefined;
    await verifyBearerToken(header, {
      verifier: {
        verifyAccessToken: async (token) => {
          found = this.#runs.find(token) ?? this.#guests?.admit(token);
          if (found === undefined) throw notValid();
          // The SDK insists on an expiry; the token ends with its run, whenever that is.
          return { token: "", clientId: "run", scopes: [], expiresAt: Number.POSITIVE_INFINITY };
        },
      },
    });
    if (found === undefined) throw notValid();
    return found;
  }
}

/** Node holds a client to the length that it announces; reading the text at once is much cheaper than a stream. */
async function readBody(request: Request): Promise<{ tooLarge: true } | { tooLarge: false; text: string }> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > 0 && announced <= MAX_BODY) return { tooLarge: false, text: await request.text() };
  return readRequestBody(request, MAX_BODY);
}

/** A call that says itself that it is of the modern era; all others are for the SDK to judge. */
function isModernCall(message: unknown): boolean {
  if (!isRecord(message) || message.method !== "tools/call" || !isRecord(message.params)) return false;
  const { _meta: meta } = message.params;
  return isRecord(meta) && typeof meta[PROTOCOL_VERSION_META_KEY] === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function notValid(): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, "The token is not valid");
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
