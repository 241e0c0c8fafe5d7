import { defined } from "../../core/defined.js";
import type { DriverOutcome } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import type { Usage } from "../../core/run-event.js";
import type { ThreadCheckpoint } from "../../core/thread.js";
import { asList, asNumber, asText, type JsonObject } from "../process/json.js";
import type { ProgramExit } from "../process/program.js";
import type { Redactor } from "../process/redactor.js";

/** The version that the driver was measured against; older ones may lack the control requests it needs. */
export const MEASURED_VERSION = "2.1.332";

/** What is known of a run when its process is gone. */
export interface RunFacts {
  readonly executable: string;
  /** The run was cancelled before its last result. */
  readonly cancelled: boolean;
  /** What the driver itself found wrong. */
  readonly fault?: TroupeError<RunErrorCode>;
  /** The last `result` frame. */
  readonly result?: JsonObject;
  readonly usage?: Usage;
  readonly exit: ProgramExit;
  /** The session that was to be resumed. */
  readonly resumed?: string;
  readonly checkpoint?: ThreadCheckpoint;
  readonly redact: Redactor;
}

type RunFault = TroupeError<RunErrorCode>;

/** Decides how a run ended. `is_error` counts, never `subtype`: a failed request to the model is a `success` there. */
export function outcomeOf(facts: RunFacts): DriverOutcome {
  const { result, usage } = facts;
  const text = asText(result?.result);
  const common = { ...(result && { terminal: result }), ...(usage && { usage }) };
  if (facts.cancelled) return { status: "cancelled", ...common };
  const error = facts.fault ?? exitError(facts) ?? resultError(facts);
  if (error) return { status: "failed", error, ...common };
  return {
    status: "finished",
    ...defined({ text }),
    ...(facts.checkpoint && { checkpoint: facts.checkpoint }),
    ...common,
  };
}

/** The error of a missing login. `detail`: what the program said of it. */
export function notAuthenticated(executable: string, detail: string): RunFault {
  return new TroupeError(
    "not_authenticated",
    `Claude Code is not logged in (${detail}). Run "${executable}" once in a terminal and log in with /login, or set ANTHROPIC_API_KEY in the agent's environment.`,
  );
}

/** The error of a program that does not know what the driver needs. */
export function tooOld(executable: string, detail: string): RunFault {
  return new TroupeError(
    "program_too_old",
    `${executable} is too old: ${detail}. Update it with "claude update" or "npm install -g @anthropic-ai/claude-code@latest" (${MEASURED_VERSION} is known to work).`,
  );
}

/** Whether text or fields of the program mean that it has no valid login. */
export function meansNotAuthenticated(fields: {
  status?: unknown;
  error?: unknown;
  text?: string | undefined;
}): boolean {
  return (
    fields.status === 401 ||
    fields.error === "authentication_failed" ||
    /please run \/login|invalid api key|not logged in/i.test(fields.text ?? "")
  );
}

function exitError(facts: RunFacts): RunFault | undefined {
  const { exit, executable, redact } = facts;
  if (exit.error?.code === "program_missing") {
    const message = `${exit.error.message} Install Claude Code ("npm install -g @anthropic-ai/claude-code") or set the driver's option "executable" to its path.`;
    return new TroupeError("program_missing", message, { cause: exit.error });
  }
  if (exit.error) return exit.error;
  if (facts.result) return undefined;
  const words = redact(exit.stderr);
  const option = /unknown option '?(--[\w-]+)/.exec(words)?.[1];
  if (option !== undefined) return tooOld(executable, `it does not know ${option}`);
  if (facts.resumed !== undefined && meansNoSession(words)) return resumeFailed(facts.resumed);
  if (meansNotAuthenticated({ text: words })) return notAuthenticated(executable, lastLine(words));
  const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  const said = words === "" ? "It said nothing on standard error." : `Its last words: ${words.slice(-1_000)}`;
  return new TroupeError("program_died", `Claude Code ended without a result (${how}). ${said}`, {
    retryable: true,
  });
}

function resultError(facts: RunFacts): RunFault | undefined {
  const { result, executable, redact, resumed } = facts;
  if (result === undefined || result.is_error !== true) return undefined;
  const errors = asList(result.errors).flatMap((error) => asText(error) ?? []);
  const text = redact(asText(result.result) ?? errors.join("; "));
  const status = asNumber(result.api_error_status);
  if (meansNotAuthenticated({ status, text })) return notAuthenticated(executable, lastLine(text));
  if (resumed !== undefined && meansNoSession(text)) return resumeFailed(resumed);
  const subtype = asText(result.subtype) ?? "";
  if (subtype.startsWith("error_max")) {
    return new TroupeError("limit_reached", `Claude Code stopped at its limit: ${text || subtype}.`);
  }
  const reason = asText(result.terminal_reason);
  if (reason?.startsWith("aborted"))
    return new TroupeError("model_error", `Claude Code stopped before it was done (${reason}).`);
  // Without a status there was no answer at all.
  const retryable =
    reason === "api_error" && (status === undefined || status === 408 || status === 429 || status >= 500);
  return new TroupeError("model_error", text || `Claude Code failed (${reason ?? subtype}).`, { retryable });
}

function resumeFailed(session: string): RunFault {
  const where = "It keeps conversations per working directory and configuration directory";
  return new TroupeError(
    "resume_failed",
    `Claude Code has no conversation ${session} to resume. ${where}: start a new thread, or restore CLAUDE_CONFIG_DIR.`,
  );
}

function meansNoSession(text: string): boolean {
  return /no conversation found/i.test(text);
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.slice(0, 200) ?? "";
}
