/** The same shape without `readonly`, all the way down: what the reducer writes and nobody else. */
export type Writable<T> = T extends readonly (infer Element)[]
  ? Writable<Element>[]
  : T extends object
    ? { -readonly [Member in keyof T]: Writable<T[Member]> }
    : T;

interface Node {
  version: number;
}

/** Knows what stands under what, so that a change costs as many steps as it is deep. */
export class ViewTree {
  readonly #above = new WeakMap<Node, Node>();

  /** Puts `child` under `parent`, or moves it there. */
  place(child: Node, parent: Node): void {
    this.#above.set(child, parent);
  }

  /** Marks `node` and everything above it as changed. */
  touch(node: Node): void {
    for (let current: Node | undefined = node; current; current = this.#above.get(current)) current.version++;
  }
}
