import { defined } from "../../core/defined.js";
import type { DriverOutcome } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { startOf } from "../../core/text.js";
import type { ThreadCheckpoint } from "../../core/thread.js";
import { asNumber, asObject, asText, type JsonObject } from "../process/json.js";
import type { ProgramExit } from "../process/program.js";
import type { Redactor } from "../process/redactor.js";
import { MEASURED_VERSION } from "./protocol.js";

type RunFault = TroupeError<RunErrorCode>;

/** Characters of the program's own words in an error. */
const WORDS = 1_000;

/** What is known of a run when its process is gone. */
export interface RunFacts {
  readonly executable: string;
  /** The run was cancelled before its turn was over. */
  readonly cancelled: boolean;
  /** What the driver itself found wrong. */
  readonly fault?: RunFault;
  /** The turn as `turn/completed` had it. */
  readonly turn?: JsonObject;
  readonly text?: string;
  readonly exit: ProgramExit;
  readonly checkpoint?: ThreadCheckpoint;
  readonly redact: Redactor;
}

/** Decides how a run ended. */
export function outcomeOf(facts: RunFacts): DriverOutcome {
  const { turn, text, checkpoint } = facts;
  const common = defined({ terminal: turn });
  if (facts.cancelled) return { status: "cancelled", ...common };
  const error = facts.fault ?? exitError(facts) ?? turnError(facts);
  if (error) return { status: "failed", error, ...common };
  return { status: "finished", ...defined({ text, checkpoint }), ...common };
}

/** The error of a missing login. `detail`: what the program said of it. */
export function notAuthenticated(executable: string, detail: string): RunFault {
  return new TroupeError(
    "not_authenticated",
    `Codex is not logged in (${startOf(detail, 200)}). Run "${executable} login" once in a terminal, or "${executable} login --with-api-key".`,
  );
}

/** The error of a program that does not know what the driver needs. */
export function tooOld(executable: string, detail: string): RunFault {
  return new TroupeError(
    "program_too_old",
    `${executable} is too old: ${detail}. Update it with "npm install -g @openai/codex@latest" (${MEASURED_VERSION} is known to work).`,
  );
}

/** The error of a thread that could not be opened. `resumed`: the thread that was to be gone on with. */
export function openError(
  executable: string,
  error: unknown,
  redact: Redactor,
  resumed: string | undefined,
): RunFault {
  const words = redact(error instanceof Error ? error.message : String(error));
  if (resumed !== undefined && /no rollout found|invalid session id|thread not found/i.test(words)) {
    return new TroupeError(
      "resume_failed",
      `Codex has no conversation ${resumed} to resume. It keeps them in its home directory: start a new thread, or restore CODEX_HOME.`,
    );
  }
  const servers = /required MCP servers failed to initialize: (.*)/s.exec(words)?.[1];
  if (servers !== undefined) {
    const message = `Codex could not use an MCP server that the run needs: ${plain(servers)}`;
    return new TroupeError("protocol_error", message, { retryable: true });
  }
  if (/unknown variant|unknown method/i.test(words)) return tooOld(executable, startOf(words, 200));
  if (meansNotAuthenticated(words, undefined)) return notAuthenticated(executable, words);
  const message = `Codex could not open the conversation: ${startOf(words, WORDS)}`;
  return new TroupeError("protocol_error", message);
}

/** Whether a failed request to the model means that the program has no valid login. */
export function refusesLogin(error: JsonObject): boolean {
  return meansNotAuthenticated(asText(error.message) ?? "", error.codexErrorInfo);
}

function meansNotAuthenticated(text: string, info: unknown): boolean {
  return (
    info === "unauthorized" ||
    statusOf(info) === 401 ||
    /not logged in|please log in|codex login|missing bearer|refresh token|sign in again/i.test(text)
  );
}

function exitError(facts: RunFacts): RunFault | undefined {
  const { exit, executable, redact } = facts;
  if (exit.error?.code === "program_missing") {
    const message = `${exit.error.message} Install Codex ("npm install -g @openai/codex") or set the driver's option "executable" to its path.`;
    return new TroupeError("program_missing", message, { cause: exit.error });
  }
  if (exit.error) return exit.error;
  if (facts.turn) return undefined;
  const words = redact(exit.stderr);
  // A version without the subcommand takes it for a prompt, and wants a terminal.
  if (/unrecognized subcommand|unexpected argument|stdin is not a terminal/i.test(words)) {
    return tooOld(executable, `it does not know how it was started (${firstLine(words)})`);
  }
  if (/not logged in/i.test(words)) return notAuthenticated(executable, firstLine(words));
  const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  const said = words === "" ? "It said nothing on standard error." : `Its last words: ${words.slice(-WORDS)}`;
  return new TroupeError("program_died", `Codex ended without a result (${how}). ${said}`, {
    retryable: true,
  });
}

const LIMITS = ["contextWindowExceeded", "sessionBudgetExceeded", "usageLimitExceeded"];
const PASSING = ["rateLimitExceeded", "serverOverloaded", "internalServerError", "flexUnavailable"];

function turnError(facts: RunFacts): RunFault | undefined {
  const { turn, executable, redact } = facts;
  if (turn?.status === "completed") return undefined;
  if (turn?.status === "interrupted")
    return new TroupeError("model_error", "Codex stopped before it was done (interrupted).");
  const error = asObject(turn?.error);
  const info = error.codexErrorInfo;
  const words = redact(startOf(asText(error.message) ?? "Codex failed without saying why.", WORDS));
  if (refusesLogin(error)) return notAuthenticated(executable, words);
  if (typeof info === "string" && LIMITS.includes(info)) return new TroupeError("limit_reached", words);
  const status = statusOf(info);
  const retryable =
    (typeof info === "string" && PASSING.includes(info)) ||
    (status !== undefined && (status === 408 || status === 429 || status >= 500)) ||
    // Without a status there was no answer, or only a part of one.
    (status === undefined && isConnection(info)) ||
    /stream disconnected|error sending request/i.test(words);
  return new TroupeError("model_error", words, { retryable });
}

/** The HTTP status inside an error of the kind `{ "httpConnectionFailed": { "httpStatusCode": 500 } }`. */
function statusOf(info: unknown): number | undefined {
  for (const detail of Object.values(asObject(info))) {
    const status = asNumber(asObject(detail).httpStatusCode);
    if (status !== undefined) return status;
  }
  return undefined;
}

function isConnection(info: unknown): boolean {
  return Object.keys(asObject(info)).some((name) => name.startsWith("response") || name.startsWith("http"));
}

/** Names of the program's inner types make its message unreadable. */
function plain(words: string): string {
  const text = words.replaceAll(/\[[^\]]*\]/g, "").replaceAll(/\s+/g, " ");
  return startOf(text, 400);
}

function firstLine(words: string): string {
  return startOf(words.trim().split("\n")[0] ?? "", 200);
}
