/** From where a program can go on with a conversation. Opaque to everyone but the driver that made it. */
export interface ThreadCheckpoint {
  readonly driver: string;
  readonly workspace: string;
  readonly session: string;
}

/** How a run relates to its thread. `continue` goes on if there is something to go on from, `resume` insists on it. */
export type ThreadMode = "continue" | "resume" | "fork" | "new";

/** Which conversation a run goes on with. */
export interface ThreadChoice {
  /** `continue` by default. */
  readonly threadMode?: ThreadMode;
  /** With `fork` only: the thread whose conversation is forked; the run's own by default. */
  readonly threadFrom?: string;
}

/** Keeps the checkpoint of each thread. Keys are the host's, opaque. */
export interface ThreadStore {
  get(thread: string): Promise<ThreadCheckpoint | undefined>;
  set(thread: string, checkpoint: ThreadCheckpoint): Promise<void>;
}

/** A {@link ThreadStore} that forgets with the process. */
export function createMemoryThreadStore(): ThreadStore {
  const checkpoints = new Map<string, ThreadCheckpoint>();
  return {
    get: async (thread) => checkpoints.get(thread),
    set: async (thread, checkpoint) => {
      checkpoints.set(thread, checkpoint);
    },
  };
}
