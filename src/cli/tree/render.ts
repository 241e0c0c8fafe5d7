import pc from "picocolors";
import wrapAnsi from "wrap-ansi";
import {
  delegationsOf,
  type ItemView,
  isSubagentOver,
  type RunView,
  type SubagentView,
  type ToolCallView,
} from "../../client/view.js";
import {
  argumentHint,
  formatBoundary,
  formatBytes,
  formatElapsed,
  latestText,
  runWord,
  subagentWord,
  summaryOf,
} from "../../client/wording.js";

/** How a tree is drawn. */
export interface RenderOptions {
  /** Columns. */
  readonly width: number;
  /** Milliseconds since the epoch, for clocks and the spinner. */
  readonly now: number;
  /** Lines of a working subagent's text that are shown. */
  readonly textLines: number;
}

const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** A run as lines: the parent's words, its tool calls, and the remote subagents under them. */
export function renderRun(run: RunView, options: RenderOptions): string[] {
  return [
    ...run.items.flatMap((item) => renderItem(item, "", options)),
    ...run.subagents.flatMap((subagent) => renderSubagent(subagent, "  ", options)),
    ...run.notices.map(({ message }) => pc.yellow(`! ${oneLine(message, options.width - 2)}`)),
  ];
}

/** The parent's own text, a tool call with what hangs under it, or a thought. */
export function renderItem(item: ItemView, indent: string, options: RenderOptions): string[] {
  if (item.kind === "tool") return renderTool(item, indent, options);
  if (item.text.trim() === "") return [];
  const lines = wrap(item.text.trim(), options.width - indent.length);
  return item.kind === "reasoning"
    ? [pc.dim(`${indent}${oneLine(item.text, options.width - indent.length)}`)]
    : lines.map((line) => indent + line);
}

/** The last line of a run. */
export function renderEnd(run: RunView, width: number): string[] {
  const delegations = delegationsOf(run);
  const artifacts = delegations.reduce((count, { artifacts: made }) => count + made.length, 0);
  const parts = [
    `${runWord(run.status)} in ${formatElapsed((run.endedAt ?? run.startedAt) - run.startedAt)}`,
    ...(delegations.length > 0 ? [counted(delegations.length, "delegation")] : []),
    ...(artifacts > 0 ? [counted(artifacts, "artifact")] : []),
  ];
  const line = parts.join(" · ");
  if (run.status === "finished") return ["", `${pc.green("✔")} ${line}`];
  if (run.status === "cancelled") {
    const stopped = delegations.filter(({ state }) => state === "stopped");
    const pending = stopped.filter(({ confirmed }) => confirmed === false).length;
    const told = pending > 0 ? `, ${counted(pending, "remote task")} did not confirm` : "";
    return ["", `${pc.yellow("■")} ${line} · ${counted(stopped.length, "remote task")} cancelled${told}`];
  }
  return [
    "",
    `${pc.red("✖")} ${line}`,
    ...wrap(run.error?.message ?? "", width - 2).map((text) => `  ${text}`),
  ];
}

function renderTool(tool: ToolCallView, indent: string, options: RenderOptions): string[] {
  const agent = tool.subagents[0]?.agentKey;
  const hint =
    agent ?? argumentHint(tool.arguments, Math.max(10, options.width - indent.length - tool.name.length - 6));
  const mark = {
    arguments: pc.cyan("▸"),
    running: pc.cyan("▸"),
    done: pc.dim("▸"),
    failed: pc.red("▸"),
    stopped: pc.yellow("▸"),
  }[tool.state];
  const inner = `${indent}  `;
  return [
    `${indent}${mark} ${pc.bold(flat(tool.name))}${hint === "" ? "" : `(${flat(hint)})`}`,
    ...tool.items.flatMap((item) => renderItem(item, inner, options)),
    ...tool.subagents.flatMap((subagent) => renderSubagent(subagent, inner, options)),
  ];
}

/** A remote agent: state and clock, then what it says, its tools and artifacts; one summary when it is over. */
export function renderSubagent(subagent: SubagentView, indent: string, options: RenderOptions): string[] {
  const { width, now, textLines } = options;
  const over = isSubagentOver(subagent.state);
  const elapsed = formatElapsed((subagent.endedAt ?? now) - subagent.startedAt);
  const inner = `${indent}  `;
  const lines = [
    `${indent}${mark(subagent, now)} ${pc.bold(flat(subagent.agentKey))} ${pc.dim(`${subagentWord(subagent.state)} ${elapsed}`)}`,
  ];
  const say = (text: string) => lines.push(`${inner}${text}`);
  const room = width - inner.length - 2;
  if (!over && subagent.statusMessage) say(pc.dim(oneLine(subagent.statusMessage, room)));
  for (const item of subagent.items)
    if (item.kind === "tool")
      say(pc.dim(oneLine(`· ${item.name} ${argumentHint(item.arguments, room)}`, room)));
  if (over)
    for (const line of wrap(summaryOf(subagent), room).slice(0, textLines)) say(`${pc.dim("│")} ${line}`);
  else for (const line of wrap(latestText(subagent), room).slice(-textLines)) say(`${pc.dim("│")} ${line}`);
  for (const { name, size } of subagent.artifacts)
    say(`${pc.cyan("◆")} ${flat(name)} ${pc.dim(formatBytes(size))}`);
  const boundary = over ? formatBoundary(subagent) : undefined;
  if (boundary !== undefined) say(pc.dim(boundary));
  return lines;
}

function mark({ state }: SubagentView, now: number): string {
  if (state === "done") return pc.green("✔");
  if (state === "failed") return pc.red("✖");
  if (state === "stopped") return pc.yellow("■");
  if (state === "needs_you") return pc.yellow("?");
  return pc.cyan(SPINNER[Math.floor(now / 80) % SPINNER.length] ?? "");
}

/** Text from outside, safe for a terminal: no control characters, so no escape sequences. */
export function clean(text: string): string {
  return text.replace(/(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, " ");
}

/** A name from outside on one line: it must not pass for a line of the tree. */
export function flat(text: string): string {
  return clean(text).replaceAll("\n", " ");
}

/** All of it on one line, cut where it does not fit. */
export function oneLine(text: string, width: number): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  const [first = ""] = wrap(line, width - 1);
  return first.length < line.length ? `${first}…` : line;
}

/** Lines of at most `width` columns, broken at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  return wrapAnsi(clean(text), Math.max(20, width), { hard: true }).split("\n");
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
