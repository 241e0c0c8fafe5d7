import { z } from "zod";
import type { DelegationPolicy } from "../delegation/policy.js";

const milliseconds = z.int().min(0).max(86_400_000);
const count = z.int().min(1).max(100_000);
const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** What the host allows in delegations; what is left out is as by default. */
export const policySchema = z
  .strictObject({
    maxTimeoutMs: milliseconds,
    idleTimeoutMs: milliseconds,
    maxConcurrentPerRun: count,
    maxConcurrentPerHost: count,
    queueMs: milliseconds,
    maxArtifactBytes: bytes,
    maxArtifacts: z.int().min(0).max(100_000),
    maxResultBytes: bytes,
    responseMode: z.enum(["artifact", "structured", "compact", "raw"]),
    cancelTimeoutMs: milliseconds,
    cancelWatchMs: milliseconds,
    context: z.enum(["ephemeral", "sticky_per_run_agent", "sticky_per_parent_thread_agent"]),
    inputRequired: z.enum(["surface", "return", "fail"]),
    inputTimeoutMs: milliseconds,
    allowRemoteArtifacts: z.boolean(),
    parallel: z.boolean(),
    allowedTenants: z.array(z.string()),
    maxDepth: z.int().min(0).max(16),
    onRunEnd: z.enum(["cancel", "detach"]),
    inputArtifacts: z.enum(["inline", "reference"]),
    auditLevel: z.enum(["digest", "full"]),
  } satisfies Record<keyof DelegationPolicy, z.ZodType>)
  .partial();
