import type { ThreadEntry } from "../../bridges/agui/event.js";
import { delegationsOf, isPending, type RunView, type SubagentView } from "../../client/view.js";
import {
  argumentHint,
  formatBoundary,
  formatBytes,
  formatElapsed,
  subagentWord,
  summaryOf,
} from "../../client/wording.js";
import type { Printer, Replies } from "./printer.js";
import { flat, oneLine, renderEnd, wrap } from "./render.js";

const WIDTH = 100;

/** Lines that are only ever added, for logs and pipes. What an agent says comes line by line, with its name before it. */
export class PlainPrinter implements Printer {
  /** Text of a message that has no line break yet, by message. */
  readonly #unfinished = new Map<string, string>();
  readonly #printedTools = new Set<string>();

  /** @param replies how questions are denied; absent for what is over. */
  constructor(private readonly replies?: Replies) {}

  update(run: RunView, { event }: ThreadEntry): void {
    switch (event.type) {
      case "text.delta":
        return this.#text(event.messageId, "", event.delta);
      case "text.end":
        return this.#textEnd(event.messageId, "");
      case "tool.end":
        return this.#tool(run, event.toolCallId);
      case "approval.requested":
        if (this.replies === undefined) return this.#line(`? ${event.approval.title}`);
        this.#line(
          `? ${event.approval.title}: denied, because nobody can answer here. Set permissions in the config.`,
        );
        if (run.approvals.some(isPending)) this.replies.decide(event.approval.approvalId, false);
        return;
      case "notice":
        return this.#line(`! ${event.message}`);
      case "subagent.text.delta":
        return this.#text(
          `${event.delegationId} ${event.messageId}`,
          `    ${event.agentKey} │ `,
          event.delta,
        );
      case "subagent.text.end":
        return this.#textEnd(`${event.delegationId} ${event.messageId}`, `    ${event.agentKey} │ `);
      case "subagent.started":
        // It may start before the end of its call has been read.
        if (event.parentToolCallId !== undefined)
          this.#tool(run, event.parentToolCallId, JSON.stringify({ objective: event.objective }));
        return this.#line(`  ${event.agentKey}: starting`);
      case "subagent.status":
        return this.#line(
          `  ${event.agentKey}: ${event.status}${event.message === undefined ? "" : ` - ${oneLine(event.message, WIDTH)}`}`,
        );
      case "subagent.input_required":
        return this.#line(`  ${event.agentKey} asks: ${oneLine(event.prompt, WIDTH)}`);
      case "subagent.artifact":
        return this.#line(
          `    ${event.agentKey} ◆ ${event.artifact.name} (${formatBytes(event.artifact.size)})`,
        );
      case "subagent.finished":
      case "subagent.failed":
      case "subagent.cancelled": {
        const subagent = delegationsOf(run).find(({ delegationId }) => delegationId === event.delegationId);
        return subagent === undefined ? undefined : this.#ended(subagent);
      }
    }
  }

  note(text: string): void {
    process.stderr.write(`${flat(text)}\n`);
  }

  end(run: RunView): void {
    // The only lines with colours of our own.
    for (const line of renderEnd(run, WIDTH)) process.stdout.write(`${line}\n`);
  }

  close(): void {}

  #tool(run: RunView, toolCallId: string, knownArguments?: string): void {
    const tool = run.items.find((item) => item.kind === "tool" && item.id === toolCallId);
    if (tool?.kind !== "tool" || this.#printedTools.has(toolCallId)) return;
    this.#printedTools.add(toolCallId);
    this.#line(`▸ ${tool.name}(${argumentHint(knownArguments ?? tool.arguments)})`);
  }

  #ended(subagent: SubagentView): void {
    const mark = { done: "✔", failed: "✖", stopped: "■" }[subagent.state as "done" | "failed" | "stopped"];
    const elapsed = formatElapsed((subagent.endedAt ?? subagent.startedAt) - subagent.startedAt);
    this.#line(`  ${mark} ${subagent.agentKey}: ${subagentWord(subagent.state)} in ${elapsed}`);
    if (subagent.state !== "done") this.#line(`    ${oneLine(summaryOf(subagent), WIDTH)}`);
    const boundary = formatBoundary(subagent);
    if (boundary !== undefined) this.#line(`    ${boundary}`);
  }

  #text(key: string, prefix: string, delta: string): void {
    const lines = ((this.#unfinished.get(key) ?? "") + delta).split("\n");
    this.#unfinished.set(key, lines.pop() ?? "");
    for (const line of lines) this.#wrapped(prefix, line);
  }

  #textEnd(key: string, prefix: string): void {
    const rest = this.#unfinished.get(key) ?? "";
    this.#unfinished.delete(key);
    if (rest !== "") this.#wrapped(prefix, rest);
  }

  #wrapped(prefix: string, text: string): void {
    for (const line of wrap(text, WIDTH - prefix.length)) this.#line(prefix + line);
  }

  #line(text: string): void {
    process.stdout.write(`${flat(text)}\n`);
  }
}
