import { createHash } from "node:crypto";
import type { RemoteProtocol } from "./events.js";

/** A delegation of which nothing is recorded yet. */
export interface StartingDelegation {
  readonly delegationId: string;
  readonly agentKey: string;
  readonly agentName: string;
  readonly protocol: RemoteProtocol;
  /** The parent's tool. */
  readonly tool: string;
  /** Absent while it is not known. */
  readonly parentToolCallId?: string;
  /** The trace that the call of the tool belongs to, as its client told. */
  readonly traceparent?: string;
}

/** W3C Trace Context, section 3.2; ids of zeros only are invalid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A `traceparent` from outside, or nothing when it is none. */
export function parseTraceparent(text: unknown): string | undefined {
  return typeof text === "string" && TRACEPARENT.test(text) ? text : undefined;
}

/**
 * The `traceparent` of one delegation. Derived from ids, so that a retry belongs to the same span.
 * @param parent the trace that its run belongs to, if there is one
 * @param run names the run; the trace is the run's own without `parent`
 */
export function traceparentOf(parent: string | undefined, run: string, delegationId: string): string {
  const span = digest(delegationId).slice(0, 16);
  const [, trace, , flags] = parent?.split("-") ?? [];
  return `00-${trace ?? digest(run).slice(0, 32)}-${span}-${flags ?? "01"}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
