import type { ApprovalDecision, ApprovalRequest } from "./approval.js";
import type { Clock } from "./clock.js";
import type { RunErrorCode, TroupeError } from "./errors.js";
import type { McpServer } from "./mcp-server.js";
import type { DriverEvent, Usage } from "./run-event.js";
import type { ThreadCheckpoint } from "./thread.js";

/** What a driver can do; an option that asks for more is refused before launch. */
export interface DriverDescription {
  /** `claude`, `codex`, … */
  readonly name: string;
  /** Variables of the host's environment that the program needs beyond the usual ones; `*` at the end matches any rest. */
  readonly environment?: readonly string[];
  readonly capabilities: {
    readonly resume: boolean;
    readonly fork: boolean;
    readonly approvals: boolean;
    readonly mcpHttp: boolean;
    readonly mcpStdio: boolean;
  };
}

/** One run, as a driver gets it. */
export interface DriverRequest {
  readonly runId: string;
  readonly prompt: string;
  /** Absolute path; the program's working directory. */
  readonly workspace: string;
  /** The whole environment of the program: nothing is inherited beyond it. */
  readonly env: Readonly<Record<string, string>>;
  /** Placeholders are expanded. Holds secrets: never in argv, env, files or logs. */
  readonly mcpServers: readonly McpServer[];
  /** The checkpoint to go on from. `fork` leaves the old conversation as it is. */
  readonly resume?: { readonly checkpoint: ThreadCheckpoint; readonly fork: boolean };
  /** Whether the run belongs to a thread, so that the program should keep its session. */
  readonly persist: boolean;
  /** Aborts when the run is cancelled; `reason` is a string. The driver then ends the program, gently first. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Where a driver puts what happens. */
export interface DriverSink {
  emit(event: DriverEvent): void;
  /**
   * Asks for a decision and waits for it; a timeout or the end of the run answers `deny`.
   * `withdrawn` aborts when the program takes its question back.
   */
  approve(
    request: Omit<ApprovalRequest, "approvalId" | "expiresAt">,
    withdrawn: AbortSignal,
  ): Promise<ApprovalDecision>;
  /** Keeps raw output for {@link RunResult.raw}; capped there. */
  raw(stream: "stdout" | "stderr", text: string): void;
}

/** How the program ended. `start` resolves with it when the process and its group are gone. */
export interface DriverOutcome {
  readonly status: "finished" | "failed" | "cancelled";
  /** The program's own final text, if it names one. */
  readonly text?: string;
  readonly error?: TroupeError<RunErrorCode>;
  readonly usage?: Usage;
  /** From which a later run of the thread may go on; committed only when `status` is `finished`. */
  readonly checkpoint?: ThreadCheckpoint;
  /** The program's terminal message, verbatim. */
  readonly terminal?: unknown;
}

/** Runs one kind of local agent. A driver parses only the official events of its own program. */
export interface Driver {
  describe(): DriverDescription;
  /** Never rejects for what the program does; a rejection is a programming error and fails the run as `internal`. */
  start(request: DriverRequest, sink: DriverSink): Promise<DriverOutcome>;
}
