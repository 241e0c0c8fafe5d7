import pc from "picocolors";
import { formatElapsed } from "../client/wording.js";
import { type Clock, systemClock, type Timer } from "../core/clock.js";
import { oneLine } from "./tree/render.js";

/** Where progress is shown. */
export interface ProgressScreen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Says what is waited for, in one line that goes away. */
export interface Progress {
  /** Waits for `work`, which is called `what` meanwhile. */
  during<T>(what: string, work: Promise<T>): Promise<T>;
  /** Takes the line away. */
  close(): void;
}

/** What is over sooner needs no word, in milliseconds. */
const SILENT_MS = 1_000;
const REDRAW_MS = 200;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const CLEAR_LINE = "\r\u001b[2K";

/** Shows what takes longer than a second, on terminals only. */
export function createProgress(
  screen: ProgressScreen = process.stderr,
  clock: Clock = systemClock,
): Progress {
  const open = new Map<string, number>();
  const since = clock.now();
  let drawn = false;
  let frame = 0;
  let timer: Timer | undefined;
  const clear = () => {
    if (drawn) screen.write(CLEAR_LINE);
    drawn = false;
  };
  const draw = () => {
    clear();
    if (open.size > 0) {
      const mark = FRAMES[frame++ % FRAMES.length] ?? "";
      const words = `${formatElapsed(clock.now() - since)} waiting for ${[...open.keys()].join(", ")}`;
      screen.write(`${mark} ${pc.dim(oneLine(words, (screen.columns ?? 80) - 4))}`);
      drawn = true;
    }
    timer = clock.timer(REDRAW_MS, draw);
  };
  if (screen.isTTY) timer = clock.timer(SILENT_MS, draw);
  return {
    async during(what, work) {
      open.set(what, (open.get(what) ?? 0) + 1);
      try {
        return await work;
      } finally {
        const left = (open.get(what) ?? 1) - 1;
        if (left === 0) open.delete(what);
        else open.set(what, left);
      }
    },
    close() {
      timer?.cancel();
      clear();
    },
  };
}
