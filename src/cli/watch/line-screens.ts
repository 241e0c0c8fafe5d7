import type { ThreadFrame } from "../../client/event-stream.js";
import type { RunView } from "../../client/view.js";
import { PlainPrinter } from "../tree/plain-printer.js";
import { flat } from "../tree/render.js";
import type { FollowedThread } from "./followed-thread.js";
import { entryOf } from "./frame-entry.js";
import type { WatchScreen } from "./watcher.js";

/** Says each thing on standard error once. */
class Notes {
  #last = "";

  say(text: string): void {
    if (text !== this.#last) process.stderr.write(`${flat(text)}\n`);
    this.#last = text;
  }
}

/** One frame a line, for programs. */
export class JsonScreen implements WatchScreen {
  readonly #notes = new Notes();

  update({ threadId }: FollowedThread, _run: RunView, { cursor, event }: ThreadFrame): void {
    process.stdout.write(`${JSON.stringify({ threadId, cursor, event })}\n`);
  }

  over(): void {}

  note(text: string): void {
    this.#notes.say(text);
  }

  close(): void {}
}

/** Lines that are only ever added, for logs and pipes; where another thread goes on, its title comes first. */
export class LineScreen implements WatchScreen {
  readonly #printers = new Map<string, PlainPrinter>();
  readonly #ended = new Set<string>();
  readonly #notes = new Notes();
  #last: string | undefined;

  update({ threadId, options }: FollowedThread, run: RunView, frame: ThreadFrame): void {
    const entry = entryOf(frame, run.runId);
    const over = run.status !== "running" && !this.#ended.has(`${threadId} ${run.runId}`);
    if (entry === undefined && !over) return;
    if (this.#last !== threadId) process.stdout.write(`# ${flat(options.title)} (${flat(threadId)})\n`);
    this.#last = threadId;
    const printer = this.#printers.get(threadId) ?? new PlainPrinter();
    this.#printers.set(threadId, printer);
    if (entry !== undefined) printer.update(run, entry);
    if (!over) return;
    this.#ended.add(`${threadId} ${run.runId}`);
    printer.end(run);
  }

  over({ threadId, runs }: FollowedThread): void {
    this.#printers.delete(threadId);
    for (const { runId } of runs) this.#ended.delete(`${threadId} ${runId}`);
  }

  note(text: string): void {
    this.#notes.say(text);
  }

  close(): void {}
}
