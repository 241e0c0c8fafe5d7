import type { ThreadListing } from "../../../src/client/index.js";

/** A thread that this browser has been in. */
export interface KnownThread {
  readonly threadId: string;
  /** The beginning of its first message. */
  readonly title: string;
  /** Of its last message, in milliseconds since the epoch. */
  readonly time: number;
}

/** A thread in the list. */
export interface ThreadEntry extends KnownThread {
  /** As the host tells it; absent for a thread that only this browser knows of. */
  readonly listing?: ThreadListing;
}

/** More are forgotten, the oldest first. */
export const MOST_KNOWN = 50;
const TITLE_LENGTH = 120;

/** The known threads with one that was just used: each once, the latest first. */
export function noteThread(known: readonly KnownThread[], thread: KnownThread): readonly KnownThread[] {
  const title = thread.title.replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH);
  const others = known.filter(({ threadId }) => threadId !== thread.threadId);
  return [...others, { ...thread, title }].sort((left, right) => right.time - left.time).slice(0, MOST_KNOWN);
}

/** Reads what {@link writeKnown} wrote, or anything else that stands in its place. */
export function readKnown(text: string | undefined): readonly KnownThread[] {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => {
    const { threadId, title, time } = (entry ?? {}) as Record<string, unknown>;
    if (typeof threadId !== "string" || threadId === "" || typeof time !== "number") return [];
    return [{ threadId, title: typeof title === "string" ? title : "", time }];
  });
}

export function writeKnown(known: readonly KnownThread[]): string {
  return JSON.stringify(known);
}

/** What this browser knows and what the host tells, each thread once, the latest first. */
export function mergeThreads(
  known: readonly KnownThread[],
  listed: readonly ThreadListing[],
): readonly ThreadEntry[] {
  const entries = new Map<string, ThreadEntry>(known.map((thread) => [thread.threadId, thread]));
  for (const listing of listed) {
    const { threadId, startedAt } = listing;
    const before = entries.get(threadId);
    entries.set(threadId, {
      threadId,
      // The browser has seen the first message itself; the host may have forgotten it.
      title: before?.title || listing.title,
      time: Math.max(startedAt, before?.time ?? 0),
      listing,
    });
  }
  return [...entries.values()].sort((left, right) => right.time - left.time);
}

/** `now`, `5 min`, `3 h`, `2 d`. */
export function formatAgo(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}
