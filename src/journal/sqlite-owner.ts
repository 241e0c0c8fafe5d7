import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import type { Database } from "better-sqlite3";
import type { SqliteModule } from "./sqlite-module.js";

/**
 * Tells other processes that the writer of an open run lives. Each writer holds a lock on a small file of its own; the kernel
 * lets go of it when the process ends in whatever way, which a process id could not tell: those are used again.
 */
export class SqliteOwner {
  #lock: Database | undefined;

  constructor(
    private readonly Sqlite: SqliteModule,
    private readonly file: string,
    readonly id: string,
  ) {}

  /** Takes the lock, once. Whatever names this owner has to be written afterwards. */
  hold(): void {
    if (this.#lock !== undefined) return;
    const path = this.#path(this.id);
    closeSync(openSync(path, "a", 0o600));
    const lock = new this.Sqlite(path, { timeout: 1_000 });
    lock.exec("BEGIN EXCLUSIVE");
    this.#lock = lock;
  }

  /** Whether another owner lives. What a dead one left behind is removed. */
  isAlive(id: string): boolean {
    if (id === this.id) return true;
    const path = this.#path(id);
    if (!/^[\w-]+$/.test(id) || !existsSync(path)) return false;
    const probe = new this.Sqlite(path, { timeout: 0 });
    try {
      probe.exec("BEGIN IMMEDIATE");
      probe.exec("ROLLBACK");
    } catch {
      return true;
    } finally {
      probe.close();
    }
    rmSync(path, { force: true });
    return false;
  }

  release(): void {
    if (this.#lock === undefined) return;
    this.#lock.close();
    this.#lock = undefined;
    try {
      rmSync(this.#path(this.id), { force: true });
    } catch {
      // Nobody holds it, so whoever looks next can remove it, when the disk may be written again.
    }
  }

  #path(id: string): string {
    return `${this.file}-owner-${id}`;
  }
}
