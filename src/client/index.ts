/**
 * Reads a host from a browser or a terminal: a stream that resumes, and a reducer that folds it into a view. Uses nothing of Node.
 * @module
 */
export {
  type AgentListing,
  type Client,
  type ClientOptions,
  createClient,
  type HostListing,
  type StartedRun,
  type StartRunRequest,
  type StreamRequest,
  type SubAgentListing,
} from "./client.js";
export { ClientError, type ClientErrorCode, type ClientErrorDetails } from "./client-error.js";
export { compareCursors } from "./cursor.js";
export type { DelegationRecord, HistoryEntry } from "./delegation-record.js";
export { type AgUiEvent, streamThread, type ThreadFrame, type ThreadStreamOptions } from "./event-stream.js";
export { createClientId } from "./ids.js";
export type { HeadersSource } from "./request.js";
export type { StreamState } from "./stream-state.js";
export type { ThreadListing, ThreadPage } from "./thread-listing.js";
export { createThreadView, type ThreadViewReducer } from "./thread-view.js";
export {
  type ApprovalView,
  delegationsOf,
  type ErrorView,
  type ItemView,
  isPending,
  isSubagentOver,
  type MarkView,
  type NoticeView,
  type PhaseView,
  type RunStatus,
  type RunView,
  runNeedsYou,
  type SubagentState,
  type SubagentView,
  type TextView,
  type ThreadView,
  type ToolCallState,
  type ToolCallView,
} from "./view.js";
export {
  argumentHint,
  formatBoundary,
  formatBytes,
  formatElapsed,
  latestText,
  runWord,
  subagentWord,
  summaryOf,
} from "./wording.js";
