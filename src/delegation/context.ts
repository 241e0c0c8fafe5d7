import type { DelegatingRun } from "./delegating-run.js";

/**
 * Whether delegations to one agent share a remote conversation. `ephemeral`: never. `sticky_per_run_agent`: within a run.
 * `sticky_per_parent_thread_agent`: within the parent's thread.
 */
export type ContextPolicy = "ephemeral" | "sticky_per_run_agent" | "sticky_per_parent_thread_agent";

/** Conversations that are remembered; beyond it those that rest longest are forgotten. */
const MAX_CONTEXTS = 10_000;

/** Remembers which remote conversation goes on with whom. Only contexts are kept: a task that is over is never used again. */
export class ContextBook {
  readonly #contexts = new Map<string, string>();

  /** The remote context that a new delegation goes on with. */
  find(policy: ContextPolicy, run: DelegatingRun, agent: string): string | undefined {
    return this.#contexts.get(keyOf(policy, run, agent));
  }

  /** The remote has used this context. */
  remember(policy: ContextPolicy, run: DelegatingRun, agent: string, contextId: string): void {
    if (policy === "ephemeral") return;
    const key = keyOf(policy, run, agent);
    this.#contexts.delete(key);
    this.#contexts.set(key, contextId);
    if (this.#contexts.size <= MAX_CONTEXTS) return;
    const [oldest] = this.#contexts.keys();
    if (oldest !== undefined) this.#contexts.delete(oldest);
  }

  /** The remote no longer knows its context, or failed with it. */
  forget(policy: ContextPolicy, run: DelegatingRun, agent: string): void {
    this.#contexts.delete(keyOf(policy, run, agent));
  }
}

/** Threads belong to a tenant by their key, so contexts do as well. */
function keyOf(policy: ContextPolicy, { thread, runId }: DelegatingRun, agent: string): string {
  return JSON.stringify([policy, thread, policy === "sticky_per_run_agent" ? runId : "", agent]);
}
