import { emitKeypressEvents } from "node:readline";
import { createLogUpdate } from "log-update";
import pc from "picocolors";
import { type ItemView, isPending, isSubagentOver, type RunView } from "../../client/view.js";
import type { Decide, Printer } from "./printer.js";
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
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly decide: Decide) {
    this.#timer = setInterval(() => this.#frame(), FRAME_MS);
    this.#timer.unref();
    this.#listen();
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
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdin.pause();
  }

  #frame(): void {
    const run = this.#run;
    if (run === undefined) return;
    const open = run.items.findIndex((item, index) => index >= this.#settled && !isSettled(item));
    this.#settle(run, open < 0 ? run.items.length : open);
    const options = this.#options();
    const lines = renderRun({ ...run, items: run.items.slice(this.#settled) }, options);
    const question = run.approvals.find(isPending);
    if (question !== undefined)
      lines.push(
        "",
        `${pc.yellow("?")} ${oneLine(question.request.title, options.width - QUESTION_WIDTH)} ${pc.dim("[y] allow  [n] deny")}`,
      );
    else if (lines.length === 0) lines.push(pc.dim("Working…"));
    if (this.#note !== "") lines.push("", pc.yellow(this.#note));
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
    return { width: Math.min(process.stdout.columns ?? 80, 120), now: Date.now(), textLines: TEXT_LINES };
  }

  #height(): number {
    return Math.max(4, (process.stdout.rows ?? 24) - 2);
  }

  #listen(): void {
    if (!process.stdin.isTTY) return;
    emitKeypressEvents(process.stdin);
    process.stdin.setRawMode(true);
    process.stdin.on(
      "keypress",
      (character: string | undefined, key: { ctrl?: boolean; name?: string } | undefined) => {
        // Raw mode takes the signal away from Ctrl-C.
        if (key?.ctrl && key.name === "c") process.kill(process.pid, "SIGINT");
        const question = this.#run?.approvals.find(isPending);
        if (question === undefined || (character !== "y" && character !== "n")) return;
        this.decide(question.request.approvalId, character === "y");
      },
    );
  }
}

function isSettled(item: ItemView): boolean {
  if (item.kind !== "tool") return item.done;
  const over = item.state === "done" || item.state === "failed" || item.state === "stopped";
  return over && item.subagents.every(({ state }) => isSubagentOver(state));
}
