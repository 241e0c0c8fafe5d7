import { createMemoryArtifactStore } from "../../src/delegation/artifacts.js";
import { Delegator } from "../../src/delegation/delegator.js";
import type { SubagentEvent } from "../../src/delegation/events.js";
import type { DelegationPolicy } from "../../src/delegation/policy.js";
import { RemoteRegistry } from "../../src/delegation/registry.js";
import type { RemoteAgent } from "../../src/delegation/remote.js";
import type { DelegationResult } from "../../src/delegation/result.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import type { A2aOptions } from "../../src/remotes/a2a/options.js";
import { HurriedClock } from "../../src/testing/a2a/hurried-clock.js";

/** What a delegation gave; for one that was refused before it started, only its status and error. */
export type Outcome = Pick<DelegationResult, "status" | "error"> & Partial<DelegationResult>;

/** Delegates once to a real A2A remote, named `research`, without any host. */
export function delegateOnce(
  options: Omit<A2aOptions, "name">,
  objective: string,
  policy: Partial<DelegationPolicy> = {},
): ReturnType<typeof delegateTo> {
  return delegateTo(a2a({ clock: new HurriedClock(20), ...options, name: "research" }), objective, policy);
}

/** Delegates once to any remote named `research`, without any host. */
export async function delegateTo(
  remote: RemoteAgent,
  objective: string,
  policy: Partial<DelegationPolicy> = {},
): Promise<{ readonly result: Outcome; readonly events: readonly SubagentEvent[] }> {
  const clock = new HurriedClock(20);
  const registry = new RemoteRegistry([{ remote, policy }], clock);
  const events: SubagentEvent[] = [];
  let ids = 0;
  const delegator = new Delegator({
    registry,
    artifacts: createMemoryArtifactStore(),
    clock,
    createId: (prefix) => `${prefix}-${++ids}`,
    correlationGraceMs: 0,
    record: async (_run, event) => void events.push(event),
  });
  const run = delegator.openRun({ runId: "run-1", thread: "/t" });
  const input = { agent: "research", objective };
  try {
    const result = await run
      .delegate(input, { tool: "delegate_to_agent", input })
      .catch((error): Outcome => ({ status: "failed", error }));
    return { result, events };
  } finally {
    await run.close("the run ended");
    await delegator.close("the test is over");
    await registry.close();
  }
}
