/**
 * Names of OpenTelemetry's semantic conventions for generative AI: those of spans as of v1.41.0, the last version that
 * github.com/open-telemetry/semantic-conventions has of them; `gen_ai.invoke_agent.duration` and `gen_ai.execute_tool.duration` from
 * v0.1.0 of github.com/open-telemetry/semantic-conventions-genai, and `a2a.task.id` from its A2A page. All of them are in
 * development there. What has no name there begins with `troupe.`.
 */
export const ATTRIBUTE = {
  operation: "gen_ai.operation.name",
  agentName: "gen_ai.agent.name",
  agentId: "gen_ai.agent.id",
  conversation: "gen_ai.conversation.id",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  tokenType: "gen_ai.token.type",
  errorType: "error.type",
  a2aTaskId: "a2a.task.id",
  runId: "troupe.run.id",
  tenant: "troupe.tenant",
  outcome: "troupe.outcome",
  toolServer: "troupe.tool.server",
  delegationId: "troupe.delegation.id",
  delegation: "troupe.delegation",
  protocol: "troupe.protocol",
  correlation: "troupe.correlation",
  remoteTaskId: "troupe.remote.task.id",
  seenBytes: "troupe.boundary.seen",
  modelBytes: "troupe.boundary.model",
  cost: "troupe.usage.cost",
  scope: "troupe.scope",
} as const;

/** Values of `gen_ai.operation.name`. */
export const OPERATION = { agent: "invoke_agent", tool: "execute_tool" } as const;

/** Names of metrics. */
export const METRIC = {
  runDuration: "gen_ai.invoke_agent.duration",
  delegationDuration: "gen_ai.client.operation.duration",
  toolDuration: "gen_ai.execute_tool.duration",
  tokens: "gen_ai.client.token.usage",
  activeRuns: "troupe.runs.active",
  activeDelegations: "troupe.delegations.active",
  errors: "troupe.errors",
  journalLag: "troupe.journal.lag",
} as const;

/** Boundaries that the conventions advise; longer ones are added, because agents work for an hour. */
export const AGENT_SECONDS = [
  0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 1_800, 3_600,
];
export const CALL_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300, 1_800, 3_600,
];
export const TOKEN_COUNTS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
export const LAG_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];
