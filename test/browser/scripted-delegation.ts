import type { ScriptedRun } from "./scripted-host.js";

/** Lets the delegation `del-1` of a run change; `value` may name another one. */
export function subagent(run: ScriptedRun, change: string, value: object = {}): void {
  const identity = {
    runId: run.runId,
    parentToolCallId: "tool-1" as string | undefined,
    delegationId: "del-1",
    agentKey: "research",
    agentName: "Research Agent",
    protocol: "a2a",
  };
  run.custom(`subagent.${change}`, { ...identity, ...value });
}

/** The agent calls `delegate_to_agent`, and the delegation `del-1` starts under the call. */
export function delegate(run: ScriptedRun): void {
  run.emit({ type: "TOOL_CALL_START", toolCallId: "tool-1", toolCallName: "delegate_to_agent" });
  run.emit({ type: "TOOL_CALL_ARGS", toolCallId: "tool-1", delta: '{"agent":"research"}' });
  run.emit({ type: "TOOL_CALL_END", toolCallId: "tool-1" });
  subagent(run, "started", { objective: "Find it", correlation: "strong" });
}

/** The agent says a whole message. */
export function say(run: ScriptedRun, text: string): void {
  run.emit({ type: "TEXT_MESSAGE_START", messageId: `m-${text}`, role: "assistant" });
  run.emit({ type: "TEXT_MESSAGE_CONTENT", messageId: `m-${text}`, delta: text });
  run.emit({ type: "TEXT_MESSAGE_END", messageId: `m-${text}` });
}
