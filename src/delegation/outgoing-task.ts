import { createHash } from "node:crypto";
import { defined } from "../core/defined.js";
import type { IncomingCall } from "./correlation.js";
import type { DelegatingRun } from "./delegating-run.js";
import type { DelegationAudit } from "./events.js";
import type { InputArtifact } from "./input-artifacts.js";
import { extendLineage, METADATA_KEY } from "./lineage.js";
import { clampTimeout, type DelegationPolicy } from "./policy.js";
import type { RemoteTask } from "./remote.js";
import { type DelegationRequest, requestText } from "./request.js";

/** What a request becomes at the remote. */
export interface OutgoingTaskParts {
  readonly request: DelegationRequest;
  readonly delegationId: string;
  readonly messageId: string;
  readonly inputs: readonly InputArtifact[];
  /** Fingerprint of the remote's card. */
  readonly card: string | undefined;
  /** The remote conversation to go on with. */
  readonly contextId: string | undefined;
  /** W3C trace context that the remote continues. */
  readonly traceparent: string;
}

/** The task as the remote gets it. */
export function outgoingTask(run: DelegatingRun, parts: OutgoingTaskParts): RemoteTask {
  const { request, delegationId, messageId, inputs, card, contextId, traceparent } = parts;
  const { runId, agent = runId, lineage = [] } = run;
  const step = { agent, delegationId, ...defined({ card }) };
  return {
    delegationId,
    messageId,
    run: { runId, ...defined({ tenant: run.tenant }) },
    text: requestText(request),
    artifacts: inputs.map(({ artifact }) => artifact),
    metadata: {
      [METADATA_KEY]: { runId, delegationId, lineage: extendLineage(lineage, step) },
      ...defined({ skillId: request.skillId }),
    },
    traceparent,
    ...defined({ contextId }),
  };
}

/** Who asked for a task, and what is sent. */
export function auditOf(
  { tenant, lineage = [] }: DelegatingRun,
  { tool, callId }: IncomingCall,
  { request, inputs }: Pick<OutgoingTaskParts, "request" | "inputs">,
  { messageId, text, traceparent = "" }: RemoteTask,
  policy: DelegationPolicy,
): DelegationAudit {
  const { skillId, constraints } = request;
  return {
    tool,
    messageId,
    size: Buffer.byteLength(text),
    sha256: createHash("sha256").update(text).digest("hex"),
    artifacts: inputs.map(({ artifact: { name }, uri, sha256 }) => ({ name, uri, sha256 })),
    lineage,
    traceparent,
    timeoutMs: clampTimeout(policy, constraints?.timeout_seconds),
    ...defined({ tenant, callId, skillId }),
    ...(policy.auditLevel === "full" ? { text } : {}),
  };
}
