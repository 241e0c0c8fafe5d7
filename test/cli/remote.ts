import {
  type ScriptedAgent,
  type ScriptedAgentOptions,
  startScriptedAgent,
} from "../../src/testing/a2a/start.js";

/** A scripted remote agent that ends with its test. */
export interface Remote extends ScriptedAgent, AsyncDisposable {
  /** The calls that asked it to cancel a task. */
  cancels(): Promise<unknown[]>;
}

/** Starts a {@link Remote} without pauses between its steps. */
export async function startRemote(options: ScriptedAgentOptions = {}): Promise<Remote> {
  const agent = await startScriptedAgent({ name: "Research Agent", paceMs: 0, ...options });
  return {
    ...agent,
    cancels: async () => (await agent.seen()).filter(({ method }) => /cancel/i.test(method)),
    [Symbol.asyncDispose]: () => agent.close(),
  };
}
