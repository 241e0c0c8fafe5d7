import type { ItemView, RunView, SubagentView, TextView, ToolCallView } from "./view.js";
import type { ViewTree, Writable } from "./view-tree.js";

/** What text, reasoning and tool calls can stand under. */
export type ContentOwner = Writable<RunView> | Writable<SubagentView>;

type Text = Writable<TextView>;
type Tool = Writable<ToolCallView>;

/** Folds the words and tool calls of one run or one delegation. Every step is as cheap at the end of a run as at its beginning. */
export class ContentFold {
  readonly #tree: ViewTree;
  readonly #owner: ContentOwner;
  readonly #openTexts = new Map<string, Text>();
  readonly #tools = new Map<string, Tool>();
  readonly #openTools = new Set<Tool>();

  constructor(tree: ViewTree, owner: ContentOwner) {
    this.#tree = tree;
    this.#owner = owner;
  }

  tool(toolCallId: string): Tool | undefined {
    return this.#tools.get(toolCallId);
  }

  textStart(kind: Text["kind"], id: string, parentToolCallId?: string): Text {
    const open = this.#openTexts.get(`${kind}:${id}`);
    if (open) return open;
    const last = this.#owner.items.at(-1);
    if (last?.kind === kind && last.id === id) return this.#reopen(last);
    const text: Text = { kind, version: 0, id, text: "", done: false };
    this.#openTexts.set(`${kind}:${id}`, text);
    this.#add(text, parentToolCallId);
    return text;
  }

  /** Its run ended in the middle of it. */
  #reopen(text: Text): Text {
    this.#openTexts.set(`${text.kind}:${text.id}`, text);
    text.done = false;
    this.#tree.touch(text);
    return text;
  }

  textDelta(kind: Text["kind"], id: string, delta: string, parentToolCallId?: string): void {
    const text = this.textStart(kind, id, parentToolCallId);
    text.text += delta;
    this.#tree.touch(text);
  }

  textEnd(kind: Text["kind"], id: string): void {
    const text = this.#openTexts.get(`${kind}:${id}`);
    if (!text) return;
    this.#openTexts.delete(`${kind}:${id}`);
    text.done = true;
    this.#tree.touch(text);
  }

  toolStart(
    id: string,
    names: { name: string; rawName?: string; parentToolCallId?: string },
    time: number,
  ): Tool {
    const known = this.#tools.get(id);
    if (known) {
      if (names.name !== "" && known.name !== names.name) {
        // Its arguments or its result came first.
        known.name = names.name;
        if (names.rawName !== undefined) known.rawName = names.rawName;
        this.#tree.touch(known);
      }
      return known;
    }
    const tool: Tool = {
      kind: "tool",
      version: 0,
      id,
      name: names.name,
      ...(names.rawName !== undefined && { rawName: names.rawName }),
      state: "arguments",
      arguments: "",
      items: [],
      subagents: [],
      approvals: [],
      startedAt: time,
    };
    this.#tools.set(id, tool);
    this.#openTools.add(tool);
    this.#add(tool, names.parentToolCallId);
    return tool;
  }

  toolArguments(id: string, delta: string, time: number): void {
    const tool = this.toolStart(id, { name: "" }, time);
    tool.arguments += delta;
    this.#tree.touch(tool);
  }

  toolEnd(id: string): void {
    const tool = this.#tools.get(id);
    if (tool?.state !== "arguments") return;
    tool.state = "running";
    this.#tree.touch(tool);
  }

  /** The first result counts; `synthetic` says that the run closed the call itself. */
  toolResult(id: string, content: string, how: { isError: boolean; synthetic: boolean }, time: number): void {
    const tool = this.toolStart(id, { name: "" }, time);
    if (!this.#openTools.delete(tool)) return;
    tool.result = content;
    tool.state = how.synthetic ? "stopped" : how.isError ? "failed" : "done";
    tool.endedAt = time;
    this.#tree.touch(tool);
  }

  /** The owner is over: closes what is still open. */
  close(time: number): void {
    for (const text of this.#openTexts.values()) {
      text.done = true;
      this.#tree.touch(text);
    }
    this.#openTexts.clear();
    for (const tool of this.#openTools) {
      tool.state = "stopped";
      tool.endedAt = time;
      this.#tree.touch(tool);
    }
    this.#openTools.clear();
  }

  #add(item: Writable<ItemView>, parentToolCallId: string | undefined): void {
    const above = parentToolCallId === undefined ? undefined : this.#tools.get(parentToolCallId);
    const parent = above ?? this.#owner;
    parent.items.push(item);
    this.#tree.place(item, parent);
    this.#tree.touch(item);
  }
}
