/** Name of the artifacts that hold what the agent says, one a message. The first one has it as its id, too. */
export const ASSISTANT_OUTPUT = "assistant-output";

/** Id and name of the artifact that holds how the task ended, as one data part. */
export const AGENT_ADAPTOR_RESULT = "agent-adaptor-result";

/** Extension whose artifacts show what the agent does beside its answer. Each of them lists it under `extensions`. */
export const TRACE_EXTENSION = "urn:x-a2a:trace:v1";

/** Names of trace artifacts. A tool call is two of them: its start, and its end with the result. */
export const TRACE = {
  toolStart: "trace.mcp.start",
  toolEnd: "trace.mcp",
  thinking: "trace.thinking",
  file: "trace.file",
  usage: "trace.usage",
} as const;

/** The two names of a task. */
export interface TaskIdentity {
  readonly taskId: string;
  readonly contextId: string;
}
