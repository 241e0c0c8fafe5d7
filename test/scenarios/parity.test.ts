import { afterAll, beforeAll, expect, it } from "vitest";
import type { SubagentEvent } from "../../src/delegation/events.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import { HurriedClock } from "../../src/testing/a2a/hurried-clock.js";
import { startScriptedAgent } from "../../src/testing/a2a/start.js";
import { startLegacyAgent } from "../support/a2a-v03/start.js";
import { delegateOnce, type Outcome } from "../support/remote-delegation.js";

interface Agent {
  readonly cardUrl: string;
  close(): Promise<void>;
}

/** Every way to a remote; the first is what the others are compared with. */
const WAYS: Record<string, () => Promise<Agent>> = {
  "version 1.0, JSON-RPC": () => startScriptedAgent({ paceMs: 2, binding: "jsonrpc" }),
  "version 1.0, REST": () => startScriptedAgent({ paceMs: 2, binding: "rest" }),
  "version 1.0, not streaming": () => startScriptedAgent({ paceMs: 2, binding: "jsonrpc", streaming: false }),
  "version 0.3": () => startLegacyAgent(),
  "version 0.3, not streaming": () => startLegacyAgent({ streaming: false }),
};
const agents: (readonly [way: string, agent: Agent])[] = [];
beforeAll(async () => {
  for (const [way, start] of Object.entries(WAYS)) agents.push([way, await start()]);
});
afterAll(() => Promise.all(agents.map(([, agent]) => agent.close())));

/** A result without what the remote named by itself, and without what was said on the way: polling does not see that. */
function comparable({ remote_task_id, remote_context_id, raw_task, messages, ...result }: Outcome) {
  return { ...result, hasTask: remote_task_id !== null };
}

/** What a person is told, but for pieces of text and for how far it has come meanwhile. Each artifact counts as it was last told. */
function told(events: readonly SubagentEvent[]) {
  const artifacts = new Map<string, unknown>();
  for (const event of events)
    if (event.type === "subagent.artifact") artifacts.set(event.artifact.id, event.artifact);
  const types = events.map(({ type }) => type);
  const lifecycle = types.filter((type) => !/\.(text|status|artifact)/.test(type));
  return { lifecycle, artifacts: [...artifacts.values()] };
}

it.each([
  "#status Reading\n#say one \n#say two\n#artifact notes.md 100000\n#artifact b.bin 10",
  "#say half\n#fail No sources",
  "#reject Not mine",
  "#message Only a message.",
  "#say Hm.\n#input Which year?",
  "#unicode",
])("%j: the same result and the same events but for deltas, whichever way", async (script) => {
  const outcomes = await Promise.all(
    agents.map(async ([way, { cardUrl }]) => {
      const { result, events } = await delegateOnce({ agentCardUrl: cardUrl }, script, {
        inputRequired: "fail",
      });
      return { way, result: comparable(result), ...told(events) };
    }),
  );
  const [{ way: _, ...expected } = { way: "" }] = outcomes;
  for (const { way, ...outcome } of outcomes) expect({ way, ...outcome }).toEqual({ way, ...expected });
});

it("a question in the middle: what was said before and after it is given once each, whichever way", async () => {
  for (const [way, { cardUrl }] of agents) {
    const remote = a2a({ name: "research", agentCardUrl: cardUrl, clock: new HurriedClock(20) });
    const never = new AbortController().signal;
    const task = {
      delegationId: "d",
      messageId: `m ${way}`,
      text: "#say Hm. \n#input Which year?",
      artifacts: [],
      metadata: {},
    };
    let taskId = "";
    let said = "";
    let before: string | undefined;
    for await (const signal of remote.start(task, never)) {
      if (signal.type === "accepted") taskId = signal.taskId ?? taskId;
      if (signal.type === "text") said += signal.delta;
      if (signal.type === "completed") said += signal.message === "Done." ? "" : (signal.message ?? "");
      if (signal.type !== "input_required") continue;
      before = said;
      await remote.answer?.({ taskId }, { text: "1999" }, never);
    }
    await remote.close();
    expect({ way, before, said }).toEqual({ way, before: "Hm.", said: "Hm.You answered: 1999" });
  }
});
