import { ClientError } from "./client-error.js";
import { listOf, membersOf, nameOf, numberOf } from "./members.js";

/** What a host has on record of a delegation. */
export interface DelegationRecord {
  readonly delegationId: string;
  /** Everything that the host tells, as it tells it. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Every state, question, file and end, in order; never the text. */
  readonly history: readonly HistoryEntry[];
  /** Who asked, and what was sent. */
  readonly audit?: Readonly<Record<string, unknown>>;
}

/** One thing that happened, at its place in the thread's order. */
export interface HistoryEntry {
  readonly cursor: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly type: string;
  readonly status?: string;
  readonly message?: string;
}

/** @throws ClientError `protocol_error` when it is no delegation. */
export function parseDelegationRecord(value: unknown): DelegationRecord {
  const raw = membersOf(value);
  const delegationId = nameOf(raw, "delegationId");
  if (delegationId === undefined)
    throw new ClientError("protocol_error", "The host's record of the delegation could not be read.");
  const items = listOf(raw, "history").map(membersOf);
  const audit = items.find((item) => typeof item.audit === "object" && item.audit !== null)?.audit;
  const history = items.flatMap((item) => {
    const cursor = nameOf(item, "cursor");
    const type = nameOf(item, "type");
    if (cursor === undefined || type === undefined) return [];
    const status = nameOf(item, "status");
    const message = nameOf(item, "message");
    return [
      {
        cursor,
        type,
        time: numberOf(item, "time") ?? 0,
        ...(status !== undefined && { status }),
        ...(message !== undefined && { message }),
      },
    ];
  });
  return { delegationId, raw, history, ...(audit !== undefined && { audit: membersOf(audit) }) };
}
