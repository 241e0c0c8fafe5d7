import { createClient } from "../../client/client.js";
import { ClientError } from "../../client/client-error.js";
import type { ThreadFrame } from "../../client/event-stream.js";
import { createThreadView, type ThreadViewReducer } from "../../client/thread-view.js";
import { delegationsOf, isSubagentOver, type RunView } from "../../client/view.js";
import { defined } from "../../core/defined.js";
import type { Cursor } from "../../journal/journal.js";

/** Clocks of a host's list and of its journal differ by moments. */
const SLACK_MS = 1_000;

/** What is read of one thread. */
export interface FollowedOptions {
  readonly threadId: string;
  readonly title: string;
  /** Runs that began before are not shown; milliseconds since the epoch. */
  readonly since: number;
  /** The next frame of a run that is shown. Must not throw. */
  readonly onFrame: (thread: FollowedThread, run: RunView, frame: ThreadFrame) => void;
}

/** A thread that is watched, across hosts: what was read stays, and the next host is asked for what follows. */
export class FollowedThread {
  readonly #view: ThreadViewReducer = createThreadView();
  #after: Cursor | undefined;
  #leave = new AbortController();
  #caughtUp = false;
  #isGone = false;

  constructor(readonly options: FollowedOptions) {}

  get threadId(): string {
    return this.options.threadId;
  }

  /** The runs that are shown, oldest first. */
  get runs(): readonly RunView[] {
    return this.#view.view.runs.filter((run) => this.#isShown(run));
  }

  /** All of it was read, and nothing of it goes on. */
  get isOver(): boolean {
    return this.#isGone || (this.#caughtUp && this.#view.view.runs.every(isRunOver));
  }

  /** Reads on from a host. @returns when the thread is left, or the host does not have it. */
  async read(baseUrl: string): Promise<void> {
    this.leave();
    const leave = new AbortController();
    this.#leave = leave;
    this.#caughtUp = false;
    this.#isGone = false;
    const onState = ({ status }: { readonly status: string }) => {
      if (status === "live") this.#caughtUp = true;
    };
    const client = createClient({ baseUrl });
    const request = { signal: leave.signal, onState, ...defined({ after: this.#after }) };
    try {
      for await (const frame of client.streamThread(this.threadId, request)) {
        if (leave.signal.aborted) return;
        this.#after = frame.cursor ?? this.#after;
        this.#view.apply(frame);
        const run = this.#view.view.runs.at(-1);
        if (run !== undefined && this.#isShown(run)) this.options.onFrame(this, run, frame);
      }
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      this.#isGone = true;
    }
  }

  leave(): void {
    this.#leave.abort();
  }

  #isShown(run: RunView): boolean {
    return run.startedAt >= this.options.since - SLACK_MS || !isRunOver(run);
  }
}

/** Nothing of a run goes on, not even a delegation that outlived it. */
export function isRunOver(run: RunView): boolean {
  return run.status !== "running" && delegationsOf(run).every(({ state }) => isSubagentOver(state));
}
