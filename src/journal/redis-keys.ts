/** Keys of one thread. They share a slot of a cluster, so that one script may touch them all. */
export interface ThreadKeys {
  /** Stream of entries; the id of each is its cursor. */
  readonly entries: string;
  /** First and last cursor, and what each writer wrote last. */
  readonly state: string;
  /** Runs and delegations as JSON, by the cursor of their start. */
  readonly spans: string;
  /** The cursors of all of them, and those of runs alone, in order. */
  readonly starts: string;
  readonly runStarts: string;
  /** Those without an end, by their names. */
  readonly open: string;
}

/** Names the keys of one deployment. Another prefix is another world. */
export class RedisKeys {
  constructor(private readonly prefix: string) {}

  /** Where writers say that there is more in a thread. */
  get wakeUps(): string {
    return `${this.prefix}:wake`;
  }

  /** Where hosts ask each other. */
  get questions(): string {
    return `${this.prefix}:questions`;
  }

  /** Where a host gets answers. */
  answers(host: string): string {
    return `${this.prefix}:answers:${host}`;
  }

  /** Threads that may have something open, and since when; some that have not are among them. */
  get openThreads(): string {
    return `${this.prefix}:open-threads`;
  }

  thread(name: string): ThreadKeys {
    // What is between the braces decides the slot, so the name must not bring its own.
    const base = `${this.prefix}:{${encodeURIComponent(name)}}`;
    return {
      entries: `${base}:entries`,
      state: `${base}:state`,
      spans: `${base}:spans`,
      starts: `${base}:starts`,
      runStarts: `${base}:runs`,
      open: `${base}:open`,
    };
  }

  /** The threads that had a run of this id. */
  run(runId: string): string {
    return `${this.prefix}:run:${encodeURIComponent(runId)}`;
  }

  /** The threads that had a delegation of this id. */
  delegation(delegationId: string): string {
    return `${this.prefix}:delegation:${encodeURIComponent(delegationId)}`;
  }

  /** Exists as long as a writer lives. */
  owner(id: string): string {
    return `${this.prefix}:owner:${id}`;
  }

  /** The files of one owner, and the bytes that one of them has. */
  files(owner: string): string {
    return `${this.prefix}:files:${encodeURIComponent(owner)}`;
  }

  bytes(sha256: string): string {
    return `${this.prefix}:bytes:${sha256}`;
  }

  /** Where a conversation goes on. */
  checkpoint(thread: string): string {
    return `${this.prefix}:checkpoint:${encodeURIComponent(thread)}`;
  }
}
