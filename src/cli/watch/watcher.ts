import { createClient } from "../../client/client.js";
import type { ThreadFrame } from "../../client/event-stream.js";
import type { ThreadListing } from "../../client/thread-listing.js";
import type { RunView } from "../../client/view.js";
import { sleep, systemClock } from "../../core/clock.js";
import { errorText } from "../../core/errors.js";
import { FollowedThread } from "./followed-thread.js";

/** Shows what is watched. */
export interface WatchScreen {
  update(thread: FollowedThread, run: RunView, frame: ThreadFrame): void;
  /** Nothing of the thread goes on. */
  over(thread: FollowedThread): void;
  /** What there is to say beside; the same again is said once. */
  note(text: string): void;
  close(): void;
}

/** What a {@link Watcher} watches. */
export interface WatcherOptions {
  /** Where the host is now; `undefined` when there is none. */
  readonly findHost: () => Promise<string | undefined>;
  /** Only this thread, whether it goes on or not. */
  readonly threadId?: string;
  readonly screen: WatchScreen;
  readonly signal: AbortSignal;
}

/** How often a host is asked what goes on, in milliseconds. */
const LOOK_AGAIN_MS = 500;

/** Follows what goes on in a host, and finds it again when it was started anew. */
export class Watcher {
  readonly #followed = new Map<string, FollowedThread>();
  /** Runs that were listed before: what came and went between two looks is shown as well. */
  #seen: Set<string> | undefined;
  #host: string | undefined;

  constructor(private readonly options: WatcherOptions) {}

  /** Watches until `signal` aborts. */
  async run(): Promise<void> {
    const { signal, screen } = this.options;
    while (!signal.aborted) {
      const host = await this.options.findHost();
      if (signal.aborted) break;
      if (host === undefined) screen.note("No host serves this workspace. Waiting for one…");
      else await this.#look(host);
      await sleep(systemClock, LOOK_AGAIN_MS, signal);
    }
    for (const thread of this.#followed.values()) thread.leave();
  }

  async #look(host: string): Promise<void> {
    const { screen, signal, threadId } = this.options;
    const client = createClient({ baseUrl: host });
    const listed = await client.listThreads(undefined, signal).catch((error: unknown) => errorText(error));
    if (signal.aborted) return;
    if (typeof listed === "string") return screen.note(`Waiting for the host at ${host}: ${listed}`);
    if (this.#host !== host) {
      this.#host = host;
      for (const thread of this.#followed.values()) this.#read(thread);
    }
    const going = listed.threads.filter(goesOn);
    const seen = this.#seen ?? new Set(listed.threads.map(runOf));
    const fresh = listed.threads.filter((one) => goesOn(one) || !seen.has(runOf(one)));
    this.#seen = new Set(listed.threads.map(runOf));
    const wanted = threadId === undefined ? fresh : listed.threads.filter((one) => one.threadId === threadId);
    for (const thread of [...wanted].reverse()) this.#follow(thread);
    if (threadId !== undefined && wanted.length === 0 && !this.#followed.has(threadId))
      this.#follow({ threadId, title: "", agent: "", status: "running", startedAt: 0, detached: 0 });
    for (const [id, thread] of this.#followed) {
      if (!thread.isOver || going.some((one) => one.threadId === id)) continue;
      screen.over(thread);
      if (threadId !== undefined) continue;
      thread.leave();
      this.#followed.delete(id);
    }
    screen.note(this.#followed.size === 0 ? `Watching ${host}. Nothing goes on.` : `Watching ${host}.`);
  }

  #follow({ threadId, title, startedAt }: ThreadListing): void {
    if (this.#followed.has(threadId)) return;
    const thread = new FollowedThread({
      threadId,
      title,
      since: startedAt,
      onFrame: (...frame) => this.options.screen.update(...frame),
    });
    this.#followed.set(threadId, thread);
    this.#read(thread);
  }

  #read(thread: FollowedThread): void {
    thread.read(this.#host ?? "").catch((error: unknown) => this.options.screen.note(String(error)));
  }
}

function runOf({ threadId, startedAt }: ThreadListing): string {
  return `${startedAt} ${threadId}`;
}

function goesOn({ status, detached }: ThreadListing): boolean {
  return status === "running" || detached > 0;
}
