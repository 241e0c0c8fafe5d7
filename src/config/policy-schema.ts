import { z } from "zod";
import type { DelegationPolicy } from "../delegation/policy.js";

const milliseconds = z.int().min(0).max(86_400_000);
const count = z.int().min(1).max(100_000);
const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

const members = {
  maxTimeoutMs: milliseconds.describe(
    "The longest life of a delegation, in milliseconds, and the default when the call asks for none.",
  ),
  idleTimeoutMs: milliseconds.describe(
    "How long a remote may be silent before it counts as gone, in milliseconds. A question that waits does not count.",
  ),
  maxConcurrentPerRun: count.describe("How many delegations one run may have at once."),
  maxConcurrentPerHost: count.describe("How many delegations the host may have at once."),
  queueMs: milliseconds.describe(
    "How long a call waits for its turn when too much runs already, in milliseconds; 0 refuses it at once.",
  ),
  maxArtifactBytes: bytes.describe("The largest file that is taken of a remote, in bytes."),
  maxArtifacts: z.int().min(0).max(100_000).describe("How many files of one delegation are taken."),
  maxResultBytes: bytes.describe("The largest result that the model gets, in bytes: 2,048 to 40,960."),
  responseMode: z
    .enum(["artifact", "structured", "compact", "raw"])
    .describe(
      "How much a result holds: a summary and files by reference, JSON files as data as well, only ids and summary, or the whole final text.",
    ),
  cancelTimeoutMs: milliseconds.describe("How long a remote has to confirm a cancel, in milliseconds."),
  cancelWatchMs: milliseconds.describe(
    "How long a cancel that was not confirmed is watched, in milliseconds.",
  ),
  context: z
    .enum(["ephemeral", "sticky_per_run_agent", "sticky_per_parent_thread_agent"])
    .describe("Whether delegations share a conversation at the remote."),
  inputRequired: z
    .enum(["surface", "return", "fail"])
    .describe(
      "What happens when a remote asks: a person is asked, the model gets the question, or the task is stopped.",
    ),
  inputTimeoutMs: milliseconds.describe("How long a question waits for its answer, in milliseconds."),
  allowRemoteArtifacts: z.boolean().describe("Whether files of remotes are kept at all."),
  parallel: z.boolean().describe("Whether the tool says that calls may run side by side."),
  allowedTenants: z.array(z.string()).describe("Tenants for whom the agent exists; all when absent."),
  maxDepth: z.int().min(0).max(16).describe("How many delegations may lead to one another."),
  onRunEnd: z
    .enum(["cancel", "detach"])
    .describe("What becomes of a delegation whose run ends by itself: it is cancelled, or goes on."),
  inputArtifacts: z
    .enum(["inline", "reference"])
    .describe("How files go to a remote: within the message, or as links to this host."),
  auditLevel: z
    .enum(["digest", "full"])
    .describe("What the journal keeps of what was sent: its size and sha256, or its text as well."),
} satisfies Record<keyof DelegationPolicy, z.ZodType>;

/** What the host allows in delegations; what is left out is as by default. */
export const policySchema = z.strictObject(members).partial();
