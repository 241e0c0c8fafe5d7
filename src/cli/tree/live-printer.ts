import { createLogUpdate } from "log-update";
import pc from "picocolors";
import {
  delegationsOf,
  type ItemView,
  isPending,
  isSubagentOver,
  type RunView,
  type SubagentView,
} from "../../client/view.js";
import { type Key, type Keyboard, listenToKeys } from "./keyboard.js";
import type { Printer, Replies } from "./printer.js";
import { oneLine, type RenderOptions, renderEnd, renderItem, renderRun } from "./render.js";

const FRAME_MS = 80;
const TEXT_LINES = 4;
/** What stands around the title of a question. */
const QUESTION_WIDTH = 24;

/**
 * A tree that is redrawn in place. Whatever is over scrolls up and stays; only what still changes is drawn again, so the cost of
 * a frame does not grow with the run.
 */
export class LivePrinter implements Printer {
  readonly #draw = createLogUpdate(process.stdout, { showCursor: false });
  #run: RunView | undefined;
  /** Items of the run that are printed for good. */
  #settled = 0;
  #note = "";
  /** The answer that is being written. */
  #typed = "";
  readonly #keyboard: Keyboard;
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly replies: Replies) {
    this.#timer = setInterval(() => this.#frame(), FRAME_MS);
    this.#timer.unref();
    this.#keyboard = listenToKeys((key) => this.#key(key));
  }

  update(run: RunView): void {
    this.#run = run;
  }

  note(text: string): void {
    this.#note = text;
    this.#frame();
  }

  end(run: RunView): void {
    clearInterval(this.#timer);
    this.#run = run;
    this.#settle(run, run.items.length);
    this.#draw.clear();
    const options = this.#options();
    const rest = renderRun({ ...run, items: [] }, options);
    process.stdout.write(`${[...rest, ...renderEnd(run, options.width)].join("\n")}\n`);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#draw.done();
    this.#keyboard.close();
  }

  #frame(): void {
    const run = this.#run;
    if (run === undefined) return;
    const open = run.items.findIndex((item, index) => index >= this.#settled && !isSettled(item));
    this.#settle(run, open < 0 ? run.items.length : open);
    const options = this.#options();
    const lines = renderRun({ ...run, items: run.items.slice(this.#settled) }, options);
    const asked = this.#asked(run, options.width);
    if (asked.length > 0) lines.push("", ...asked);
    else if (lines.length === 0) lines.push(pc.dim("Working…"));
    if (this.#note !== "") lines.push("", pc.yellow(oneLine(this.#note, options.width)));
    this.#draw(lines.slice(-this.#height()).join("\n"));
  }

  /** Prints the items before `until` for good. */
  #settle(run: RunView, until: number): void {
    if (until <= this.#settled) return;
    const options = this.#options();
    const lines = run.items.slice(this.#settled, until).flatMap((item) => renderItem(item, "", options));
    this.#settled = until;
    if (lines.length === 0) return;
    this.#draw.clear();
    process.stdout.write(`${lines.join("\n")}\n`);
  }

  #options(): RenderOptions {
    return { width: Math.min(process.stdout.columns || 80, 120), now: Date.now(), textLines: TEXT_LINES };
  }

  #height(): number {
    return Math.max(4, (process.stdout.rows || 24) - 2);
  }

  /** What waits for the person: one question at a time, the local agent's first. */
  #asked(run: RunView, width: number): string[] {
    const approval = run.approvals.find(isPending);
    if (approval !== undefined) {
      const title = oneLine(approval.request.title, width - QUESTION_WIDTH);
      return [`${pc.yellow("?")} ${title} ${pc.dim("[y] allow  [n] deny")}`];
    }
    const remote = waiting(run);
    if (remote === undefined) return [];
    return [
      `${pc.yellow("?")} ${pc.bold(remote.agentKey)} asks: ${oneLine(remote.prompt ?? "", width - QUESTION_WIDTH)}`,
      `  ${pc.cyan(">")} ${oneLine(this.#typed, width - QUESTION_WIDTH)}▏ ${pc.dim("[Enter] answers")}`,
    ];
  }

  #key({ text, name }: Key): void {
    const run = this.#run;
    if (run === undefined) return;
    const approval = run.approvals.find(isPending);
    if (approval !== undefined) {
      if (text === "y" || text === "n") this.replies.decide(approval.request.approvalId, text === "y");
      return;
    }
    const remote = waiting(run);
    if (remote === undefined) return;
    if (name === "return" && this.#typed.trim() !== "") {
      this.replies.answer(remote.delegationId, this.#typed.trim());
      this.#typed = "";
    } else if (name === "backspace") this.#typed = [...this.#typed].slice(0, -1).join("");
    else this.#typed += text.replace(/\p{Cc}/gu, "");
  }
}

/** The first remote agent that waits for words. */
function waiting(run: RunView): SubagentView | undefined {
  return delegationsOf(run).find(({ state, takesAnswer }) => state === "needs_you" && takesAnswer);
}

function isSettled(item: ItemView): boolean {
  if (item.kind !== "tool") return item.done;
  const over = item.state === "done" || item.state === "failed" || item.state === "stopped";
  return over && item.subagents.every(({ state }) => isSubagentOver(state));
}
