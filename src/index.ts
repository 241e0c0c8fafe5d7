/**
 * Lets local coding agents call remote agents as visual subagents.
 * @module
 */
export type {
  A2aAgentOptions,
  A2aExposure,
  A2aInboundAuth,
  A2aSkill,
} from "./bridges/a2a/options.js";
export type { SubagentEncoding } from "./bridges/agui/encoder.js";
export type { ThreadEntry, ThreadEvent } from "./bridges/agui/event.js";
export { type Agent, type AgentOptions, createAgent, type RunOptions } from "./core/agent.js";
export type {
  ApprovalDecision,
  ApprovalHandler,
  ApprovalRequest,
  PermissionMode,
  PermissionOptions,
} from "./core/approval.js";
export { type Clock, systemClock, type Timer } from "./core/clock.js";
export type { Driver, DriverDescription, DriverOutcome, DriverRequest, DriverSink } from "./core/driver.js";
export { type RunErrorCode, TroupeError, type TroupeErrorOptions } from "./core/errors.js";
export type { CreateId } from "./core/ids.js";
export type { McpHttpServer, McpServer, McpStdioServer } from "./core/mcp-server.js";
export { type Run, RunError, type RunResult } from "./core/run.js";
export type { DriverEvent, ErrorInfo, PlanStep, RunEvent, Usage, UserMessage } from "./core/run-event.js";
export type { RunAttachment, RunContext, RunOutcome, RunService } from "./core/run-service.js";
export {
  createMemoryThreadStore,
  type ThreadCheckpoint,
  type ThreadChoice,
  type ThreadMode,
  type ThreadStore,
} from "./core/thread.js";
export type { TranscriptItem } from "./core/transcript.js";
export {
  type ArtifactStore,
  createMemoryArtifactStore,
  type StoredArtifact,
} from "./delegation/artifacts.js";
export type { RemoteState } from "./delegation/directory.js";
export type {
  ArtifactDescription,
  CorrelationLevel,
  DelegationError,
  DelegationErrorCode,
  RemoteProtocol,
  SubagentEvent,
} from "./delegation/events.js";
export {
  DEFAULT_POLICY,
  type DelegationPolicy,
  type InputPolicy,
  type ResponseMode,
} from "./delegation/policy.js";
export type {
  RemoteAgent,
  RemoteCancelAnswer,
  RemoteDescription,
  RemoteInput,
  RemoteQuestion,
  RemoteSignal,
  RemoteSkill,
  RemoteTask,
  RemoteTaskReference,
} from "./delegation/remote.js";
export type { DelegationResult } from "./delegation/result.js";
export type { A2aHostOptions } from "./host/a2a-host.js";
export type { Authorise, Principal } from "./host/authoriser.js";
export { createHost, type Host, type HostOptions, type HostRun, type HostRunOptions } from "./host/host.js";
export type {
  Cursor,
  GapEvent,
  Journal,
  JournalEntry,
  NewEntry,
  ReadOptions,
  Recordable,
} from "./journal/journal.js";
export { createMemoryJournal, type MemoryJournalOptions } from "./journal/memory-journal.js";
export { VERSION } from "./version.js";
