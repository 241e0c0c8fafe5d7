import type { DriverEvent, Nested } from "../../core/run-event.js";

/** The kinds of blocks that are shown. */
export type BlockKind = "text" | "reasoning" | "tool";

/** A content block of one message while it is written. */
export interface Block {
  readonly kind: BlockKind;
  /** Its `messageId` or `toolCallId`. */
  readonly id: string;
  /** What was emitted of it. */
  sent: string;
  started: boolean;
  open: boolean;
  /** Its `assistant` frame has come, so the next frame of this kind means the next block. */
  framed: boolean;
  /** Arguments that came whole with the block's start instead of in pieces. */
  readonly input?: unknown;
}

/** Writes the events of blocks so that each is started once, ended once, and says nothing after its end. */
export class BlockWriter {
  readonly #emit: (event: DriverEvent) => void;
  readonly #openTools = new Map<string, Block>();

  constructor(emit: (event: DriverEvent) => void) {
    this.#emit = emit;
  }

  /** A tool call is known by its start; text and reasoning start with their first character, so an empty block is not shown. */
  openTool(block: Block, tool: { name: string; server?: string; tool?: string }, nested: Nested): void {
    block.started = true;
    this.#openTools.set(block.id, block);
    this.#emit({ type: "tool.start", toolCallId: block.id, ...tool, ...nested });
  }

  add(block: Block, delta: string, nested: Nested): void {
    if (!block.open || delta === "") return;
    if (block.kind === "tool") {
      this.#emit({ type: "tool.args", toolCallId: block.id, delta });
    } else {
      if (!block.started) this.#emit({ type: `${block.kind}.start`, messageId: block.id, ...nested });
      this.#emit({ type: `${block.kind}.delta`, messageId: block.id, delta, ...nested });
    }
    block.started = true;
    block.sent += delta;
  }

  close(block: Block, nested: Nested): void {
    if (!block.open) return;
    if (block.kind === "tool") {
      // Readers parse the joined arguments, and an empty text is no JSON.
      if (block.sent === "") this.add(block, JSON.stringify(block.input ?? {}), nested);
      this.#openTools.delete(block.id);
      this.#emit({ type: "tool.end", toolCallId: block.id });
    } else if (block.started) {
      this.#emit({ type: `${block.kind}.end`, messageId: block.id, ...nested });
    }
    block.open = false;
  }

  /** Ends the arguments of a call whose result came before the end of its block. */
  closeTool(toolCallId: string): void {
    const block = this.#openTools.get(toolCallId);
    if (block) this.close(block, {});
  }
}
