import { randomUUID } from "node:crypto";

/** Fields of a message or an item. */
export type Fields = Readonly<Record<string, unknown>>;

/** Writes the app-server's messages, with the fields that the program was measured to use. */
export class AppServerWriter {
  readonly #open = new Map<number, (answer: Fields | undefined) => void>();
  #requests = 0;
  /** The ids of the thread and of the turn that works. */
  thread = randomUUID() as string;
  turn = "";

  /** One line of standard output. Pipes are written synchronously on POSIX, so nothing is lost by an exit. */
  write(message: Fields): void {
    process.stdout.write(`${JSON.stringify(message)}\n`);
  }

  respond(id: unknown, result: Fields): void {
    this.write({ id, result });
  }

  refuse(id: unknown, message: string, code = -32_600): void {
    this.write({ error: { code, message }, id });
  }

  /** A notification of the thread's turn. */
  notify(method: string, params: Fields = {}): void {
    const ids = { threadId: this.thread, turnId: this.turn };
    this.write({ method, params: { ...ids, ...params }, emittedAtMs: 0 });
  }

  itemStarted(item: Fields): void {
    this.notify("item/started", { item, startedAtMs: 0 });
  }

  itemCompleted(item: Fields): void {
    this.notify("item/completed", { item, completedAtMs: 0 });
  }

  /** Asks whoever drives it; `undefined` when the question was taken back before it was answered. */
  ask(method: string, params: Fields): Promise<Fields | undefined> {
    const id = this.#requests++;
    return new Promise((resolve) => {
      this.#open.set(id, resolve);
      this.write({ method, id, params: { threadId: this.thread, turnId: this.turn, ...params } });
    });
  }

  /** Takes an answer to {@link ask}. */
  answered(id: unknown, answer: Fields): void {
    const resolve = this.#open.get(Number(id));
    if (!resolve) return;
    this.#open.delete(Number(id));
    this.notify("serverRequest/resolved", { requestId: id });
    resolve(answer);
  }

  withdrawAll(): void {
    for (const [id, resolve] of this.#open) {
      this.notify("serverRequest/resolved", { requestId: id });
      resolve(undefined);
    }
    this.#open.clear();
  }
}
