import type { Context, Hono } from "hono";
import type { SubagentEncoding } from "../../bridges/agui/encoder.js";
import type { ThreadEvent } from "../../bridges/agui/event.js";
import type { Agent } from "../../core/agent.js";
import type { Clock } from "../../core/clock.js";
import type { ArtifactStore } from "../../delegation/artifacts.js";
import type { Delegator } from "../../delegation/delegator.js";
import type { RemoteRegistry } from "../../delegation/registry.js";
import type { Journal } from "../../journal/journal.js";
import type { Principal } from "../authoriser.js";
import { HttpError } from "../http-error.js";
import type { Runs } from "../runs.js";

/** What the routes work with. */
export interface RouteEnvironment {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly runs: Runs;
  readonly journal: Journal<ThreadEvent>;
  readonly delegator: Delegator;
  readonly registry: RemoteRegistry;
  readonly artifacts: ArtifactStore;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** Absent when runs go on without readers. */
  readonly disconnectGraceMs?: number;
  readonly subagents?: SubagentEncoding;
}

/** The Hono application of a host; who asks is known in every route. */
export type HostApp = Hono<{ Variables: { principal: Principal } }>;

/** The context of one request. */
export type HostContext = Context<{ Variables: { principal: Principal } }>;

/**
 * The JSON body of a request; an empty one is `{}`.
 * @throws HttpError 400 or 415.
 */
export async function jsonBody(context: HostContext): Promise<unknown> {
  const text = await context.req.text();
  if (text === "") return {};
  // A page of another origin can send everything but this type without asking first.
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(context.req.header("content-type") ?? "")) {
    throw new HttpError(415, "invalid_input", "Content-Type must be application/json.");
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError(400, "invalid_input", "The body is not JSON.");
  }
}
