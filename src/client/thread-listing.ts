import { ClientError } from "./client-error.js";
import { listOf, type Members, membersOf, nameOf, numberOf, textOf } from "./members.js";
import type { RunStatus } from "./view.js";

/** A thread as a host lists it: what it is about, and how its last run stands. */
export interface ThreadListing {
  readonly threadId: string;
  /** The beginning of its first message that the host still knows. */
  readonly title: string;
  readonly agent: string;
  readonly status: RunStatus;
  /** Of the last run, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt?: number;
  /** Delegations that go on after their run. */
  readonly detached: number;
}

/** A part of the list, the latest first. */
export interface ThreadPage {
  readonly threads: readonly ThreadListing[];
  /** What to ask for to go on; absent at the end. */
  readonly next?: string;
}

/** @throws ClientError `protocol_error` when it is no list. */
export function parseThreadPage(value: unknown): ThreadPage {
  const members = membersOf(value);
  if (!Array.isArray(members.threads))
    throw new ClientError("protocol_error", "The host's list of threads could not be read.");
  const next = nameOf(members, "next");
  return {
    threads: listOf(members, "threads").flatMap((thread) => parseThread(membersOf(thread))),
    ...(next !== undefined && { next }),
  };
}

function parseThread(thread: Members): ThreadListing[] {
  const threadId = nameOf(thread, "threadId");
  if (threadId === undefined) return [];
  const run = membersOf(thread.run);
  const { status } = run;
  const known = status === "finished" || status === "failed" || status === "cancelled";
  const endedAt = numberOf(run, "endedAt");
  return [
    {
      threadId,
      title: textOf(thread, "title") ?? "",
      agent: textOf(run, "agent") ?? "",
      status: known ? status : "running",
      startedAt: numberOf(run, "startedAt") ?? 0,
      ...(endedAt !== undefined && { endedAt }),
      detached: numberOf(thread, "detached") ?? 0,
    },
  ];
}
