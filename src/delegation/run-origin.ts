import { isCycle, lineageOf, MAX_LINEAGE, METADATA_KEY } from "./lineage.js";
import { parseTraceparent } from "./trace-context.js";

/** What led to a run that another agent asks for, as that one tells. */
export interface RunOrigin {
  /** For the services of the run. Nothing else of what the caller sent goes there. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Why the run must not be started; for the caller's eyes. */
  readonly refusal?: string;
}

/** Told to callers that are part of a loop; it names neither agents nor hosts. */
const REFUSAL =
  "The agent does not take this task: it comes from a chain of agents that is too long, or goes in a circle.";

/**
 * Reads what led to a request, and refuses loops: chains that hold this agent already, or that are longer than any policy allows.
 * @param told Troupe's own member of the request's metadata
 * @param traceparent the header of this name
 * @param identity the agent's name in lineages
 */
export function originOf(
  told: unknown,
  traceparent: string | null | undefined,
  identity: string | undefined,
): RunOrigin {
  const lineage = lineageOf({ [METADATA_KEY]: told });
  const trace = parseTraceparent(traceparent);
  const metadata = {
    ...(lineage.length === 0 ? {} : { [METADATA_KEY]: { lineage } }),
    ...(trace === undefined ? {} : { traceparent: trace }),
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
