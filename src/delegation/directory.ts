import type { DelegationPolicy } from "./policy.js";
import type { RemoteAgent, RemoteDescription } from "./remote.js";

/** A remote agent with what the host allows for it. */
export interface RemoteEntry {
  readonly remote: RemoteAgent;
  readonly policy: DelegationPolicy;
}

/** What the host knows of a remote at this moment. */
export interface RemoteState {
  readonly key: string;
  readonly protocol: RemoteAgent["protocol"];
  readonly status: "ready" | "unreachable" | "unknown";
  readonly description?: RemoteDescription;
  /** Why it is unreachable. */
  readonly problem?: string;
}

/** The remote agents that exist for somebody. */
export interface RemoteDirectory {
  get(key: string): RemoteEntry | undefined;
  keys(): string[];
  state(key: string): RemoteState | undefined;
  states(): RemoteState[];
  /** Grows whenever more, or something else, is known of a remote. */
  readonly version: number;
}

/** A directory that shows some agents of another one. */
export class PartialDirectory implements RemoteDirectory {
  readonly #keys: ReadonlySet<string>;

  constructor(
    private readonly whole: RemoteDirectory,
    keys: readonly string[],
  ) {
    this.#keys = new Set(keys);
  }

  get version(): number {
    return this.whole.version;
  }

  get(key: string): RemoteEntry | undefined {
    return this.#keys.has(key) ? this.whole.get(key) : undefined;
  }

  keys(): string[] {
    return [...this.#keys].filter((key) => this.whole.get(key) !== undefined);
  }

  state(key: string): RemoteState | undefined {
    return this.#keys.has(key) ? this.whole.state(key) : undefined;
  }

  states(): RemoteState[] {
    return this.whole.states().filter(({ key }) => this.#keys.has(key));
  }
}
