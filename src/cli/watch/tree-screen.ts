import { createLogUpdate } from "log-update";
import pc from "picocolors";
import type { RunView } from "../../client/view.js";
import { oneLine, type RenderOptions, renderEnd, renderRun } from "../tree/render.js";
import { type FollowedThread, isRunOver } from "./followed-thread.js";
import type { WatchScreen } from "./watcher.js";

const FRAME_MS = 100;
const TEXT_LINES = 4;
/** Of a run that goes on, its last items; what was before has scrolled away in any tree. */
const LAST_ITEMS = 12;

/** The trees of all threads that go on, redrawn in place; what is over scrolls up and stays. */
export class TreeScreen implements WatchScreen {
  readonly #draw = createLogUpdate(process.stdout, { showCursor: false });
  readonly #threads = new Set<FollowedThread>();
  /** Runs that are printed for good. */
  readonly #printed = new Set<RunView>();
  readonly #timer: NodeJS.Timeout;
  #note = "";

  constructor() {
    this.#timer = setInterval(() => this.#frame(), FRAME_MS);
  }

  update(thread: FollowedThread): void {
    this.#threads.add(thread);
  }

  over(thread: FollowedThread): void {
    this.#frame();
    this.#threads.delete(thread);
    for (const run of thread.runs) this.#printed.delete(run);
  }

  note(text: string): void {
    this.#note = text;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#draw.clear();
    this.#draw.done();
  }

  #frame(): void {
    const options = this.#options();
    const lines: string[] = [];
    for (const thread of this.#threads) {
      for (const run of thread.runs) {
        if (this.#printed.has(run)) continue;
        if (isRunOver(run)) this.#print(thread, run, options);
        else lines.push(titleOf(thread, options.width), ...tree(run, options), "");
      }
    }
    lines.push(pc.dim(oneLine(this.#note, options.width)));
    this.#draw(lines.slice(-Math.max(4, (process.stdout.rows || 24) - 2)).join("\n"));
  }

  #print(thread: FollowedThread, run: RunView, options: RenderOptions): void {
    this.#printed.add(run);
    this.#draw.clear();
    const lines = [
      titleOf(thread, options.width),
      ...tree(run, options),
      ...renderEnd(run, options.width),
      "",
    ];
    process.stdout.write(`${lines.join("\n")}\n`);
  }

  #options(): RenderOptions {
    return { width: Math.min(process.stdout.columns || 80, 120), now: Date.now(), textLines: TEXT_LINES };
  }
}

function tree(run: RunView, options: RenderOptions): string[] {
  return renderRun({ ...run, items: run.items.slice(-LAST_ITEMS) }, options);
}

function titleOf({ threadId, options }: FollowedThread, width: number): string {
  return pc.bold(oneLine(`# ${options.title} (${threadId})`, width));
}
