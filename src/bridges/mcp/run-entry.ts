import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import { LegacySessions } from "./legacy-sessions.js";
import { RunServer } from "./run-server.js";
import type { McpToolset } from "./tool.js";

/** Options of {@link createRunEntry}. */
export interface RunEntryOptions {
  readonly clock: Clock;
  readonly instructions: string;
  readonly version: string;
  readonly onError?: (error: Error) => void;
  /** A session of the older era is over. */
  readonly sessionEnded?: () => void;
}

/** The tools of one run over HTTP, in both eras. */
export interface RunEntry {
  readonly server: RunServer;
  readonly modern: McpHttpHandler;
  readonly legacy: LegacySessions;
}

/** Characters of a request's body; a prompt of a megabyte fits. */
export const MAX_BODY = 4 * 1_048_576;
/** SSE comments against idle proxies. They are no progress to any client. */
const KEEP_ALIVE_MS = 15_000;

/** Serves a toolset over HTTP. */
export function createRunEntry(toolset: McpToolset, options: RunEntryOptions): RunEntry {
  const { clock, sessionEnded, onError = () => undefined } = options;
  const server = new RunServer(toolset, { ...options, onError });
  const modern = createMcpHandler(({ era }) => server.create(era), {
    legacy: "reject",
    // Any other mode answers headers late, and Claude Code gives up on a silent call after 60 s.
    responseMode: "sse",
    keepAliveMs: KEEP_ALIVE_MS,
    maxRequestBodySize: MAX_BODY,
    onerror: onError,
  });
  const legacy = new LegacySessions(server, {
    clock,
    keepAliveMs: KEEP_ALIVE_MS,
    maxBodySize: MAX_BODY,
    ...defined({ sessionEnded }),
  });
  return { server, modern, legacy };
}
