import { defined } from "../../core/defined.js";
import type { DriverOutcome } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { startOf } from "../../core/text.js";
import type { ThreadCheckpoint } from "../../core/thread.js";
import { asText, type JsonObject } from "../process/json.js";
import type { ProgramExit } from "../process/program.js";
import type { Redactor } from "../process/redactor.js";

type RunFault = TroupeError<RunErrorCode>;

/** Characters of the program's own words in an error. */
const WORDS = 1_000;

/** What is known of a run when its process is gone. */
export interface RunFacts {
  readonly executable: string;
  readonly cancelled: boolean;
  /** What the driver itself found wrong. */
  readonly fault?: RunFault;
  /** The `result` event. */
  readonly result?: JsonObject;
  readonly exit: ProgramExit;
  /** The conversation that was to be gone on with. */
  readonly resumed?: string;
  readonly checkpoint?: ThreadCheckpoint;
  readonly redact: Redactor;
}

/** Decides how a run ended. */
export function outcomeOf(facts: RunFacts): DriverOutcome {
  const { result, checkpoint } = facts;
  const common = defined({ terminal: result });
  if (facts.cancelled) return { status: "cancelled", ...common };
  const error = facts.fault ?? exitError(facts) ?? resultError(facts);
  if (error) return { status: "failed", error, ...common };
  return { status: "finished", ...defined({ checkpoint }), ...common };
}

/** The program tells of a failure by its exit and standard error; there is no last event then. */
function exitError({ exit, executable, result, redact, resumed }: RunFacts): RunFault | undefined {
  if (exit.error?.code === "program_missing") {
    const message = `${exit.error.message} Install Cursor's command line agent (see cursor.com/cli), or set the driver's option "executable" to its path (older ones are called cursor-agent).`;
    return new TroupeError("program_missing", message, { cause: exit.error });
  }
  if (exit.error) return exit.error;
  if (result) return undefined;
  const words = redact(exit.stderr);
  const line = startOf(words.trim().split("\n").at(-1) ?? "", 200);
  if (/unknown option|unrecognized option|invalid option/i.test(words))
    return new TroupeError(
      "program_too_old",
      `${executable} is too old: it does not know how it was started (${line}). Update it with "${executable} update".`,
    );
  if (/not logged in|authentication required|please log ?in|invalid api key|CURSOR_API_KEY/i.test(words))
    return new TroupeError(
      "not_authenticated",
      `Cursor is not logged in (${line}). Run "${executable} login" once in a terminal, or set CURSOR_API_KEY in the agent's environment.`,
    );
  if (/trust/i.test(words) && /workspace/i.test(words))
    return new TroupeError("invalid_input", `Cursor does not trust the workspace (${line}).`);
  if (resumed !== undefined && /(chat|session|conversation).*(not found|does not exist|unknown)/i.test(words))
    return new TroupeError(
      "resume_failed",
      `Cursor has no conversation ${resumed} to resume. Start a new thread.`,
    );
  const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  const said = words === "" ? "It said nothing on standard error." : `Its last words: ${words.slice(-WORDS)}`;
  return new TroupeError("program_died", `Cursor ended without a result (${how}). ${said}`, {
    retryable: true,
  });
}

function resultError({ result, redact }: RunFacts): RunFault | undefined {
  if (result === undefined || (result.is_error !== true && (result.subtype ?? "success") === "success"))
    return undefined;
  const words = redact(startOf(asText(result.result) ?? "Cursor failed without saying why.", WORDS));
  const retryable = /\b(429|5\d\d)\b|rate limit|overloaded|timed? ?out|unavailable/i.test(words);
  return new TroupeError("model_error", words, { retryable });
}
