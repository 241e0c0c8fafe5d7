import type { Context, Hono } from "hono";
import type { SubagentEncoding } from "../../bridges/agui/encoder.js";
import type { ThreadEvent } from "../../bridges/agui/event.js";
import type { Agent } from "../../core/agent.js";
import type { Clock } from "../../core/clock.js";
import type { ArtifactLinks } from "../../delegation/artifact-links.js";
import type { ArtifactStore } from "../../delegation/artifacts.js";
import type { Delegator } from "../../delegation/delegator.js";
import type { RemoteRegistry } from "../../delegation/registry.js";
import type { Journal } from "../../journal/journal.js";
import { WireError } from "../../wire/errors.js";
import { parseJson } from "../../wire/json.js";
import type { HostedFace } from "../a2a-host.js";
import type { Principal } from "../authoriser.js";
import type { Commands } from "../commands.js";
import { HttpError } from "../http-error.js";
import type { Presence } from "../presence.js";
import type { Runs } from "../runs.js";

/** What the routes work with. */
export interface RouteEnvironment {
  readonly agents: ReadonlyMap<string, Agent>;
  /** An agent's name in lineages, by its key. */
  readonly identityOf: (agent: string) => string;
  readonly runs: Runs;
  /** Stops and answers what runs here or at another host. */
  readonly commands: Commands;
  readonly presence: Presence;
  readonly journal: Journal<ThreadEvent>;
  readonly delegator: Delegator;
  readonly registry: RemoteRegistry;
  readonly artifacts: ArtifactStore;
  readonly links?: ArtifactLinks;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** Absent when runs go on without readers. */
  readonly disconnectGraceMs?: number;
  readonly subagents?: SubagentEncoding;
  /** Agents of the host that A2A clients may call. */
  readonly a2a?: HostedFace;
}

/** The Hono application of a host; who asks is known in every route. */
export type HostApp = Hono<{ Variables: { principal: Principal } }>;

/** The context of one request. */
export type HostContext = Context<{ Variables: { principal: Principal } }>;

/**
 * The JSON body of a request; an empty one is `{}`.
 * @param parse by default refuses what would be changed silently; a client's whole state may hold what nobody here looks at
 * @throws HttpError 400 or 415.
 */
export async function jsonBody(
  context: HostContext,
  parse: (text: string) => unknown = parseJson,
): Promise<unknown> {
  const text = await limitedText(context);
  if (text === "") return {};
  // A page of another origin can send everything but this type without asking first.
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(context.req.header("content-type") ?? "")) {
    throw new HttpError(415, "invalid_input", "Content-Type must be application/json.");
  }
  try {
    return parse(text);
  } catch (error) {
    const message = error instanceof WireError ? error.message : "The text is not JSON.";
    throw new HttpError(400, "invalid_input", `body: ${message}`);
  }
}

/** A prompt of a megabyte with some history fits. */
const MAX_BODY = 8 * 1_048_576;

/**
 * Counts what arrives, whatever length was announced. A request may have no body at all, and say nothing of its length.
 * @param fatal throws a TypeError for what is no UTF-8, in place of replacing it
 */
export async function limitedText(context: HostContext, fatal = false): Promise<string> {
  const tooLarge = () => new HttpError(413, "invalid_input", "The request is too large.");
  if (Number(context.req.header("content-length") ?? 0) > MAX_BODY) throw tooLarge();
  const { body } = context.req.raw;
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal });
  let text = "";
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.byteLength;
    if (size > MAX_BODY) {
      await reader.cancel();
      throw tooLarge();
    }
    text += decoder.decode(next.value, { stream: true });
  }
  return text + decoder.decode();
}
