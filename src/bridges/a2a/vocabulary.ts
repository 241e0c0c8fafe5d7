/** Name of the artifacts that hold what the agent says, one a message. The first one has it as its id, too. */
export const ASSISTANT_OUTPUT = "assistant-output";

/** Id and name of the artifact that holds how the task ended, as one data part. */
export const AGENT_ADAPTOR_RESULT = "agent-adaptor-result";

/** The two names of a task. */
export interface TaskIdentity {
  readonly taskId: string;
  readonly contextId: string;
}
