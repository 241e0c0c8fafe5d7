import { createThreadView } from "troupe/client";

/**
 * What the events of a CopilotKit agent amount to. CopilotKit keeps no `CUSTOM` events, and renders a tool call only when that call
 * changes; so the cards look in here.
 */
export function createThreadStore() {
  const listeners = new Set();
  let reducer = createThreadView();
  let generation = 0;

  return {
    /** @returns whether a run that is known begins again: CopilotKit has connected anew, and everything comes once more. */
    apply(event) {
      const anew = event.type === "RUN_STARTED" && reducer.run(event.runId) !== undefined;
      if (anew) {
        reducer = createThreadView();
        generation++;
      }
      reducer.apply({ event });
      for (const listener of listeners) listener();
      return anew;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Changes with everything that happens. */
    version: () => `${generation}.${reducer.view.version}`,
    /** A tool call, with the subagents that it asked. */
    call(toolCallId) {
      for (const run of reducer.view.runs) {
        const found = run.items.find((item) => item.kind === "tool" && item.id === toolCallId);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    /** The last run: what Claude Code itself waits for, and why it failed. */
    lastRun: () => reducer.view.runs.at(-1),
  };
}
