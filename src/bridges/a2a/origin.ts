import type { Message } from "@a2a-js/sdk";
import { isCycle, lineageOf, MAX_LINEAGE, METADATA_KEY } from "../../delegation/lineage.js";
import { parseTraceparent } from "../../delegation/trace-context.js";

/** What led to a task, as its caller tells. */
export interface TaskOrigin {
  /** For the services of the task's run. Nothing else of the caller's metadata goes there. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Why the task must not be started; for the caller's eyes. */
  readonly refusal?: string;
}

/** Told to callers that are part of a loop; it names neither agents nor hosts. */
const REFUSAL =
  "The agent does not take this task: it comes from a chain of agents that is too long, or goes in a circle.";

/**
 * Reads what led to a message, and refuses loops: chains that hold this agent already, or that are longer than any policy allows.
 * @param identity the agent's name in lineages
 */
export function originOf(
  message: Message,
  requestMetadata: Readonly<Record<string, unknown>> | undefined,
  headers: Headers,
  identity: string | undefined,
): TaskOrigin {
  const told = message.metadata?.[METADATA_KEY] ?? requestMetadata?.[METADATA_KEY];
  const given = { [METADATA_KEY]: told };
  const lineage = lineageOf(given);
  const traceparent = parseTraceparent(headers.get("traceparent"));
  const metadata = {
    ...(lineage.length === 0 ? {} : { [METADATA_KEY]: { lineage } }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  const refused = claimedLength(told) > MAX_LINEAGE || isCycle(lineage, identity);
  return refused ? { metadata, refusal: REFUSAL } : { metadata };
}

/** How long a chain says that it is, also where it is cut or cannot be read. */
function claimedLength(told: unknown): number {
  const lineage: unknown =
    typeof told === "object" && told !== null && "lineage" in told ? told.lineage : undefined;
  return Array.isArray(lineage) ? lineage.length : 0;
}
