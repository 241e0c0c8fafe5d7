import type { Clock } from "../core/clock.js";
import { TroupeError } from "../core/errors.js";
import type { CreateId } from "../core/ids.js";
import { type ActiveDelegation, endAll } from "./active-delegation.js";
import type { ArtifactLinks } from "./artifact-links.js";
import type { ArtifactStore } from "./artifacts.js";
import { ContextBook } from "./context.js";
import { type DelegatingRun, runKey } from "./delegating-run.js";
import type { DelegationState } from "./delegation-state.js";
import type { DelegationErrorCode, SubagentEvent } from "./events.js";
import { Permits } from "./permits.js";
import type { RemoteRegistry } from "./registry.js";
import type { RemoteAgent, RemoteInput } from "./remote.js";
import { RunDelegations } from "./run-delegations.js";
import type { StartingDelegation } from "./trace-context.js";

/** What a delegator works with. */
export interface DelegatorOptions {
  readonly registry: RemoteRegistry;
  readonly artifacts: ArtifactStore;
  /** Appends to the thread's journal, in the order of the calls. */
  readonly record: (run: DelegatingRun, event: SubagentEvent) => Promise<unknown>;
  readonly clock: Clock;
  readonly createId: CreateId;
  /**
   * A delegation begins; told before anything of it is recorded. Must not throw.
   * @returns the `traceparent` that its remote gets; by default one that is derived from the ids.
   */
  readonly starting?: (run: DelegatingRun, delegation: StartingDelegation) => string | undefined;
  /** Gets what nobody expected, for the host's log. */
  readonly onError?: (error: unknown) => void;
  /** Needed where a policy sends files by reference. */
  readonly links?: ArtifactLinks;
  /** How long a call waits for the parent's tool call to be seen, in milliseconds. Default 250. */
  readonly correlationGraceMs?: number;
  /** Ended delegations whose state stays readable. Default 10,000. */
  readonly keepEnded?: number;
}

/** A delegation that the host knows. */
export interface KnownDelegation {
  readonly run: DelegatingRun;
  readonly state: DelegationState;
}

/** Starts delegations, and knows all of them by id. */
export class Delegator {
  /** What has ended is kept as its state alone: whatever worked on it can go. */
  readonly #delegations = new Map<
    string,
    { readonly run: DelegatingRun; readonly delegation: { readonly state: DelegationState } }
  >();
  readonly #active = new Map<string, ActiveDelegation>();
  /** What goes on without its run, by thread. */
  readonly #detached = new Map<string, Set<ActiveDelegation>>();
  readonly #byRun = new Map<string, Set<string>>();
  /** What has ended and is kept, oldest first, after those places that were given up. */
  readonly #ended: string[] = [];
  #givenUp = 0;
  readonly permits = new Permits();
  readonly contexts = new ContextBook();

  constructor(readonly options: DelegatorOptions) {}

  /** Opens a run for delegations. Close it when the run ends. */
  openRun(run: DelegatingRun): RunDelegations {
    return new RunDelegations(this, run);
  }

  /** A delegation, running or ended, as long as it is kept. */
  get(delegationId: string): KnownDelegation | undefined {
    const known = this.#delegations.get(delegationId);
    return known === undefined ? undefined : { run: known.run, state: known.delegation.state };
  }

  /** All delegations of a run, oldest first. */
  list(run: DelegatingRun): DelegationState[] {
    const ids = this.#byRun.get(runKey(run)) ?? [];
    return [...ids].flatMap((id) => this.get(id)?.state ?? []);
  }

  /** @returns whether there is such a delegation and it was not over. */
  cancel(delegationId: string, reason: string): boolean {
    const delegation = this.#active.get(delegationId);
    if (delegation === undefined || delegation.state.phase === "over") return false;
    delegation.apply({ type: "stop", cause: "cancel", reason });
    return true;
  }

  /** The stream of a thread's run ends: what goes on without its run leaves nothing open there. */
  detachAll(thread: string): void {
    for (const delegation of this.#detached.get(thread) ?? []) delegation.apply({ type: "detach" });
  }

  /** Resolves when no delegation that goes on now works with a remote any more. */
  async free(remote: RemoteAgent): Promise<void> {
    const working = [...this.#active.values()].filter((delegation) => delegation.remote === remote);
    await Promise.all(working.map(({ gone }) => gone));
  }

  /** Another process has taken over a run: its delegations end here, and their remotes go on. */
  surrender(run: DelegatingRun): void {
    for (const id of this.#byRun.get(runKey(run)) ?? []) this.#active.get(id)?.surrender();
  }

  /**
   * Stops what goes on without its run, and ends what still watches remotes whose cancel was never confirmed.
   * @param inherited another process will go on with what can be found again; that is left as it is.
   */
  async close(reason: string, inherited = false): Promise<void> {
    const detached = [...this.#detached.values()].flatMap((delegations) => [...delegations]);
    const left = detached.filter((delegation) => inherited && delegation.canBeFound);
    for (const delegation of left) delegation.leave();
    await endAll(
      detached.filter((delegation) => !left.includes(delegation)),
      reason,
    );
    for (const delegation of this.#active.values()) delegation.abandon();
  }

  /**
   * Answers what a delegation asks.
   * @throws TroupeError `nothing_asked`, `capability_unsupported`, or why the remote did not take it.
   */
  async reply(delegationId: string, input: RemoteInput): Promise<void> {
    const delegation = this.active(delegationId);
    if (delegation === undefined)
      throw new TroupeError<DelegationErrorCode>("nothing_asked", "The delegation is over.");
    await delegation.reply(input, "person");
  }

  /** @internal The run of a delegation is over, and the delegation is not. */
  detach(run: DelegatingRun, delegation: ActiveDelegation): void {
    const detached = this.#detached.get(run.thread) ?? new Set();
    this.#detached.set(run.thread, detached.add(delegation));
    void delegation.over.then(() => {
      detached.delete(delegation);
      if (detached.size === 0) this.#detached.delete(run.thread);
    });
  }

  /** @internal */
  active(delegationId: string): ActiveDelegation | undefined {
    return this.#active.get(delegationId);
  }

  /** @internal */
  keep(run: DelegatingRun, delegation: ActiveDelegation): void {
    const { delegationId } = delegation.state.identity;
    this.#delegations.set(delegationId, { run, delegation });
    this.#active.set(delegationId, delegation);
    void delegation.gone.then(() => this.#active.delete(delegationId));
    const ids = this.#byRun.get(runKey(run)) ?? new Set();
    this.#byRun.set(runKey(run), ids.add(delegationId));
  }

  /** @internal */
  ended(delegationId: string): void {
    const ended = this.#delegations.get(delegationId);
    if (ended !== undefined)
      this.#delegations.set(delegationId, { run: ended.run, delegation: { state: ended.delegation.state } });
    const { keepEnded = 10_000 } = this.options;
    if (this.#ended.push(delegationId) - this.#givenUp > keepEnded) this.#giveUpOldest();
    if (this.#givenUp > keepEnded) {
      this.#ended.splice(0, this.#givenUp);
      this.#givenUp = 0;
    }
  }

  #giveUpOldest(): void {
    const oldest = this.#ended[this.#givenUp++];
    const known = oldest === undefined ? undefined : this.#delegations.get(oldest);
    if (oldest === undefined || known === undefined) return;
    this.#delegations.delete(oldest);
    const ids = this.#byRun.get(runKey(known.run));
    ids?.delete(oldest);
    if (ids?.size === 0) this.#byRun.delete(runKey(known.run));
  }
}
