import type { Database } from "better-sqlite3";

/** Entries that are deleted in one transaction: more would keep everything else waiting. */
const CHUNK = 2_000;

/**
 * Lets go of old runs, each thread from its beginning, so that what is left has no holes. A run that goes on, or one of whose
 * delegations does, is never touched. Call all of it within transactions.
 */
export class SqliteRetention {
  readonly #statements;

  constructor(
    database: Database,
    /** Entries kept of a thread. */
    private readonly maxEntries: number,
  ) {
    const prepare = <Parameters extends unknown[], Row = unknown>(sql: string) =>
      database.prepare<Parameters, Row>(sql);
    this.#statements = {
      first: prepare<[number], number>("SELECT first FROM threads WHERE id = ?").pluck(),
      nextRun: prepare<[number, number], number | null>(
        "SELECT min(first) FROM runs WHERE thread = ? AND first > ?",
      ).pluck(),
      open: prepare<[{ thread: number; cut: number }], number>(
        `SELECT 1 FROM runs WHERE thread = @thread AND first < @cut AND last IS NULL
         UNION ALL SELECT 1 FROM delegations WHERE thread = @thread AND first < @cut AND last IS NULL LIMIT 1`,
      ).pluck(),
      head: prepare<[number], number>(
        "SELECT seq FROM entries WHERE thread = ? ORDER BY seq DESC LIMIT 1",
      ).pluck(),
      expired: prepare<[number], number>("SELECT DISTINCT thread FROM runs WHERE ended_at < ?").pluck(),
      staying: prepare<[number, number], number | null>(
        "SELECT min(first) FROM runs WHERE thread = ? AND (ended_at IS NULL OR ended_at >= ?)",
      ).pluck(),
      delegations: prepare<[number, number], string>(
        "DELETE FROM delegations WHERE thread = ? AND first < ? RETURNING delegation_id",
      ).pluck(),
      runs: prepare<[number, number]>("DELETE FROM runs WHERE thread = ? AND first < ?"),
      begin: prepare<[number, number]>("UPDATE threads SET first = ? WHERE id = ?"),
      checkpoints: prepare<[number]>("DELETE FROM checkpoints WHERE time < ?"),
      unswept: prepare<[], { id: number; first: number; swept: number }>(
        "SELECT id, first, swept FROM threads WHERE swept < first LIMIT 1",
      ),
      sweep: prepare<[number, number]>("DELETE FROM entries WHERE thread = ? AND seq < ?"),
      swept: prepare<[number, number]>("UPDATE threads SET swept = ? WHERE id = ?"),
      remember: prepare<[number]>("UPDATE marks SET value = max(value, ?) WHERE name = 'dropped'"),
      forget: prepare<[number]>("DELETE FROM threads WHERE id = ?"),
    };
  }

  /** Drops the oldest runs while the thread is too long. @returns the delegations that went with them. */
  trim(thread: number, head: number): string[] {
    const { first, nextRun, open } = this.#statements;
    const dropped: string[] = [];
    let from = first.get(thread) ?? 1;
    while (head - from + 1 > this.maxEntries) {
      const cut = nextRun.get(thread, from) ?? undefined;
      if (cut === undefined || open.get({ thread, cut }) !== undefined) break;
      dropped.push(...this.#cut(thread, cut));
      from = cut;
    }
    return dropped;
  }

  /** Drops runs that ended before a time, and checkpoints as old. @returns the delegations that went with them. */
  expire(before: number): string[] {
    const { expired, staying, head, open, first, checkpoints } = this.#statements;
    const dropped: string[] = [];
    for (const thread of expired.all(before)) {
      const cut = staying.get(thread, before) ?? (head.get(thread) ?? 0) + 1;
      if (cut <= (first.get(thread) ?? 1) || open.get({ thread, cut }) !== undefined) continue;
      dropped.push(...this.#cut(thread, cut));
    }
    checkpoints.run(before);
    return dropped;
  }

  /** Deletes some of what was dropped. @returns whether there is more. */
  sweep(): boolean {
    const { unswept, sweep, swept, head, remember, forget } = this.#statements;
    const thread = unswept.get();
    if (thread === undefined) return false;
    const until = Math.min(thread.first, thread.swept + CHUNK);
    sweep.run(thread.id, until);
    swept.run(until, thread.id);
    if (until === thread.first && head.get(thread.id) === undefined) {
      // A thread that comes back begins above every cursor that was ever used in it.
      remember.run(thread.first - 1);
      forget.run(thread.id);
    }
    return true;
  }

  #cut(thread: number, cut: number): string[] {
    const { delegations, runs, begin } = this.#statements;
    const dropped = delegations.all(thread, cut);
    runs.run(thread, cut);
    begin.run(cut, thread);
    return dropped;
  }
}
