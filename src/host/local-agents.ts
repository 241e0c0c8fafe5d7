import type { ThreadEvent } from "../bridges/agui/event.js";
import type { Agent } from "../core/agent.js";
import { defined } from "../core/defined.js";
import { TroupeError } from "../core/errors.js";
import type { RunEvent } from "../core/run-event.js";
import type { SubagentEvent } from "../delegation/events.js";
import type { Journal } from "../journal/journal.js";
import type { LocalHost, LocalRunRequest } from "../remotes/local/local-host.js";
import { threadKey } from "./authoriser.js";
import { runEntries } from "./run-entries.js";
import type { Runs } from "./runs.js";

/** What {@link createLocalHost} works with; asked for when a remote needs it, because remotes are there before runs can be. */
export interface LocalAgentsOptions {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly journal: Journal<ThreadEvent>;
  readonly runs: () => Runs;
}

/** What a host does for agents of its own that are called as sub-agents: it runs them as it runs any other. */
export function createLocalHost({ agents, journal, runs }: LocalAgentsOptions): LocalHost {
  return {
    describe(key) {
      const agent = agents.get(key);
      if (agent === undefined)
        throw new TroupeError(
          "agent_not_found",
          `The host has no agent "${key}". Agents: ${[...agents.keys()].join(", ")}.`,
        );
      return { name: agent.name, driver: agent.driver.describe().name };
    },
    start({ agent, prompt, caller, runId, threadId, messageId, metadata }: LocalRunRequest) {
      // Whoever owns the run that delegates owns this one, and nobody else.
      const thread = threadKey(defined({ tenant: caller?.tenant }), threadId);
      const messages = [{ id: messageId, text: prompt }];
      const record = runs().start({ agent, thread, runId, messages, metadata });
      const { run } = record;
      if (run === undefined) throw new TroupeError("invalid_input", `Run ${runId} is over.`);
      return {
        run,
        async *events(signal: AbortSignal): AsyncGenerator<RunEvent | SubagentEvent> {
          for await (const entry of runEntries(journal, record, signal)) {
            if (entry.runId === runId && entry.event.type !== "stream.gap") yield entry.event;
          }
        },
      };
    },
  };
}
