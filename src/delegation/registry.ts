import { type Clock, withinTime } from "../core/clock.js";
import { errorText, TroupeError } from "../core/errors.js";
import { PartialDirectory, type RemoteDirectory, type RemoteEntry, type RemoteState } from "./directory.js";
import type { DelegationErrorCode } from "./events.js";
import { type DelegationPolicy, resolvePolicy } from "./policy.js";
import type { RemoteAgent, RemoteDescription } from "./remote.js";

const KEY = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** A remote agent as a host has it, with its own part of the policy. */
export interface RegisteredRemote {
  readonly remote: RemoteAgent;
  readonly policy?: Partial<DelegationPolicy>;
}

/** The agents that this host curates. The model can name nothing else. */
export class RemoteRegistry implements RemoteDirectory {
  /** By the keys that they show; there are no more than ways to choose from what the host configured. */
  readonly #directories = new Map<string, RemoteDirectory>();
  readonly #entries = new Map<string, RemoteEntry>();
  readonly #states = new Map<string, RemoteState>();
  /** Fingerprints of cards that have changed since, until that is told. */
  readonly #changedFrom = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  readonly #lostListeners = new Set<() => void>();
  #version = 0;

  /** @throws TroupeError as {@link replace}. */
  constructor(
    remotes: readonly RegisteredRemote[],
    private readonly clock: Clock,
  ) {
    this.replace(remotes);
  }

  /**
   * Puts other remotes in the place of those that there are; what is known of one that stays is kept.
   * @returns those that are no longer there. Delegations may still be at work with them; closing them is the caller's.
   * @throws TroupeError `invalid_input` for a key that is used twice, or that could not be part of a tool's name; nothing is changed.
   */
  replace(remotes: readonly RegisteredRemote[]): RemoteAgent[] {
    const next = new Map<string, RemoteEntry>();
    for (const { remote, policy } of remotes) {
      const { key } = remote;
      if (!KEY.test(key)) {
        throw new TroupeError(
          "invalid_input",
          `"${key}" cannot be an agent's name: letters, digits, "-" and "_", at most 64.`,
        );
      }
      if (next.has(key)) throw new TroupeError("invalid_input", `Two remote agents are named "${key}".`);
      next.set(key, { remote, policy: resolvePolicy(policy) });
    }
    const gone: RemoteAgent[] = [];
    for (const [key, { remote }] of this.#entries) {
      if (next.get(key)?.remote === remote) continue;
      gone.push(remote);
      this.#states.delete(key);
      this.#changedFrom.delete(key);
    }
    this.#entries.clear();
    for (const [key, entry] of next) {
      this.#entries.set(key, entry);
      if (!this.#states.has(key))
        this.#states.set(key, { key, protocol: entry.remote.protocol, status: "unknown" });
    }
    // Who has kept a part of it has kept names that may mean others by now.
    this.#directories.clear();
    this.#version++;
    for (const listener of this.#listeners) listener();
    return gone;
  }

  /** What exists for a tenant. The same object for all who see the same. */
  forTenant(tenant: string | undefined): RemoteDirectory {
    const mine = [...this.#entries].filter(([, { policy }]) => {
      return policy.allowedTenants === undefined || policy.allowedTenants.includes(tenant ?? "");
    });
    if (mine.length === this.#entries.size) return this;
    const keys = mine.map(([key]) => key);
    const id = keys.join(" ");
    const known = this.#directories.get(id) ?? new PartialDirectory(this, keys);
    this.#directories.set(id, known);
    return known;
  }

  get(key: string): RemoteEntry | undefined {
    return this.#entries.get(key);
  }

  keys(): string[] {
    return [...this.#entries.keys()];
  }

  state(key: string): RemoteState | undefined {
    return this.#states.get(key);
  }

  states(): RemoteState[] {
    return this.keys().flatMap((key) => this.#states.get(key) ?? []);
  }

  /** Grows whenever more, or something else, is known of a remote. */
  get version(): number {
    return this.#version;
  }

  /** The fingerprint that an agent's card had before it changed. Told once for each change. */
  takeChange(key: string): string | undefined {
    const before = this.#changedFrom.get(key);
    this.#changedFrom.delete(key);
    return before;
  }

  /** Calls `listener` when what is known of a remote changes. @returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Calls `listener` when a remote turns out to be unreachable. */
  onLost(listener: () => void): void {
    this.#lostListeners.add(listener);
  }

  /**
   * Asks one remote what it is, and remembers the answer.
   * @throws TroupeError what the remote's `describe` throws.
   */
  async describe(key: string, signal: AbortSignal): Promise<RemoteDescription> {
    const entry = this.#entries.get(key);
    if (entry === undefined)
      throw new TroupeError<DelegationErrorCode>("agent_not_found", `There is no agent "${key}".`);
    const { protocol } = entry.remote;
    const isCurrent = () => this.#entries.get(key)?.remote === entry.remote;
    try {
      const description = await entry.remote.describe(signal);
      if (isCurrent()) this.#remember({ key, protocol, status: "ready", description });
      return description;
    } catch (error) {
      const { description } = this.#states.get(key) ?? {};
      const known = description === undefined ? {} : { description };
      if (!signal.aborted && isCurrent())
        this.#remember({ key, protocol, status: "unreachable", problem: errorText(error), ...known });
      throw error;
    }
  }

  /** Asks remotes, by default all, at once, each at most `timeoutMs`. Never rejects: who does not answer is `unreachable`. */
  async probe(timeoutMs: number, keys: readonly string[] = this.keys()): Promise<RemoteState[]> {
    await Promise.all(
      keys.map(async (key) => {
        const abort = new AbortController();
        const probing = this.describe(key, abort.signal).then(
          () => true,
          () => true,
        );
        if ((await withinTime(this.clock, timeoutMs, probing)) === true) return;
        abort.abort();
        const before = this.#states.get(key);
        if (before !== undefined)
          this.#remember({ ...before, status: "unreachable", problem: `No answer within ${timeoutMs} ms.` });
      }),
    );
    return this.states();
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#entries.values()].map(({ remote }) => remote.close()));
  }

  #remember(state: RemoteState): void {
    const before = this.#states.get(state.key);
    this.#states.set(state.key, state);
    const news = (before?.description === undefined) !== (state.description === undefined);
    const changed = news || before?.description?.fingerprint !== state.description?.fingerprint;
    const [known, now] = [before?.description?.fingerprint, state.description?.fingerprint];
    if (known !== undefined && now !== undefined && known !== now) this.#changedFrom.set(state.key, known);
    if (changed || before?.status !== state.status) this.#version++;
    if (changed) for (const listener of this.#listeners) listener();
    if (state.status === "unreachable") for (const listener of this.#lostListeners) listener();
  }
}
