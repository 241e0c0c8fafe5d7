import type { RemoteSignal } from "../../delegation/remote.js";
import { PatchedDocument } from "./json-patch.js";

const NAME = "state.json";

/** The state that an agent shares with whoever calls it, and the file that it becomes. */
export class StateFile {
  #document: PatchedDocument;
  #told: string;

  /** @param sent the state that the run was given */
  constructor(sent: unknown = {}) {
    this.#told = JSON.stringify(sent) ?? "{}";
    this.#document = new PatchedDocument(structuredClone(sent));
  }

  /** `undefined` when a patch did not fit, until the next snapshot. */
  get value(): unknown {
    return this.#document.value;
  }

  replace(snapshot: unknown): void {
    this.#document = new PatchedDocument(snapshot);
  }

  patch(delta: unknown): void {
    if (!this.#document.apply(delta)) this.#document = new PatchedDocument(undefined);
  }

  /** The file, when it says something else than before. */
  changed(): RemoteSignal[] {
    const text = JSON.stringify(this.value);
    if (text === undefined || text === this.#told || text === "null") return [];
    this.#told = text;
    const bytes = Buffer.from(JSON.stringify(this.value, undefined, 2));
    return [
      {
        type: "artifact",
        chunk: { id: NAME, name: NAME, mimeType: "application/json", mode: "replace", bytes, last: false },
      },
    ];
  }
}
