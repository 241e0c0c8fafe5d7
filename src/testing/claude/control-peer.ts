import { randomUUID } from "node:crypto";

/** The program's side of the control protocol: questions that it puts to whoever drives it. */
export class ControlPeer {
  readonly #write: (frame: Readonly<Record<string, unknown>>) => void;
  readonly #open = new Map<string, (response: Readonly<Record<string, unknown>> | undefined) => void>();

  constructor(write: (frame: Readonly<Record<string, unknown>>) => void) {
    this.#write = write;
  }

  /** Asks; `undefined` when the question was taken back before it was answered. */
  ask(request: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>> | undefined> {
    const id = randomUUID();
    return new Promise((resolve) => {
      this.#open.set(id, resolve);
      this.#write({ type: "control_request", request_id: id, request });
    });
  }

  answered(response: Readonly<Record<string, unknown>>): void {
    const id = String(response.request_id);
    const body = response.response;
    this.#open.get(id)?.(typeof body === "object" && body !== null ? { ...body } : {});
    this.#open.delete(id);
  }

  withdrawAll(): void {
    for (const [id, resolve] of this.#open) {
      this.#write({ type: "control_cancel_request", request_id: id });
      resolve(undefined);
    }
    this.#open.clear();
  }
}
