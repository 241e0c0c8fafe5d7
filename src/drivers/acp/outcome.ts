import { defined } from "../../core/defined.js";
import type { DriverOutcome } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { startOf } from "../../core/text.js";
import type { ThreadCheckpoint } from "../../core/thread.js";
import { asText, type JsonObject } from "../process/json.js";
import type { ProgramExit } from "../process/program.js";
import type { Redactor } from "../process/redactor.js";
import { RpcRefusal } from "../process/rpc-channel.js";
import { AGENT, AUTH_REQUIRED, RESOURCE_NOT_FOUND } from "./protocol.js";

type RunFault = TroupeError<RunErrorCode>;

/** Characters of the program's own words in an error. */
const WORDS = 1_000;

/** How an agent is named in messages. */
export interface AgentTitle {
  readonly title: string;
  readonly command: string;
  readonly install?: string | undefined;
}

/** What is known of a run when its process is gone. */
export interface RunFacts {
  readonly agent: AgentTitle;
  /** The run was cancelled before its turn was over. */
  readonly cancelled: boolean;
  /** What the driver itself found wrong. */
  readonly fault?: RunFault;
  /** The answer to the prompt. */
  readonly answer?: JsonObject;
  readonly exit: ProgramExit;
  readonly checkpoint?: ThreadCheckpoint;
  readonly redact: Redactor;
}

/** Decides how a run ended. */
export function outcomeOf(facts: RunFacts): DriverOutcome {
  const { answer, checkpoint } = facts;
  const common = defined({ terminal: answer });
  if (facts.cancelled) return { status: "cancelled", ...common };
  const error = facts.fault ?? exitError(facts) ?? stopError(facts);
  if (error) return { status: "failed", error, ...common };
  return { status: "finished", ...defined({ checkpoint }), ...common };
}

/** The error of a refused request. */
export function requestError(
  { title, command }: AgentTitle,
  method: string,
  error: unknown,
  redact: Redactor,
  authMethods: readonly string[],
): RunFault {
  const words = redact(startOf(wordsOf(error), WORDS));
  const code = error instanceof RpcRefusal ? error.rpcCode : undefined;
  if (code === AUTH_REQUIRED || method === AGENT.authenticate || meansNoLogin(words)) {
    const offered = authMethods.length === 0 ? "" : ` It offers: ${authMethods.slice(0, 10).join(", ")}.`;
    return new TroupeError(
      "not_authenticated",
      `${title} is not logged in (${startOf(words, 300)}). Run "${command}" once in a terminal and log in, or give it a key by its environment, or set the driver's option "authMethod".${offered}`,
    );
  }
  if (method === AGENT.session_load || method === AGENT.session_resume) {
    const lost =
      code === RESOURCE_NOT_FOUND || /not found|no such|unknown session|does not exist/i.test(words);
    const why = lost ? "has no such conversation" : "could not open the conversation";
    return new TroupeError("resume_failed", `${title} ${why} (${startOf(words, 300)}). Start a new thread.`);
  }
  if (method !== AGENT.session_prompt)
    return new TroupeError("protocol_error", `${title} refused ${method}: ${words}`);
  const retryable = /\b(408|429|5\d\d)\b|overloaded|timed? ?out|ECONN|fetch failed|try again/i.test(words);
  return new TroupeError("model_error", `${title} failed: ${words}`, { retryable });
}

/** JSON-RPC's own sentence says little; what comes with it says more. */
function wordsOf(error: unknown): string {
  if (!(error instanceof RpcRefusal)) return error instanceof Error ? error.message : String(error);
  const { data } = error;
  const more =
    typeof data === "string" ? data : data === undefined || data === null ? "" : JSON.stringify(data);
  return more === "" || error.message.includes(more) ? error.message : `${error.message}: ${more}`;
}

function meansNoLogin(words: string): boolean {
  return /auth(entication)? (is )?required|not (logged in|authenticated)|api key (not valid|is missing)|invalid api key|please log ?in/i.test(
    words,
  );
}

function exitError({ exit, agent, answer, redact }: RunFacts): RunFault | undefined {
  const { title, command, install } = agent;
  if (exit.error?.code === "program_missing") {
    const how = install === undefined ? "" : ` ${install}`;
    return new TroupeError("program_missing", `${exit.error.message}${how}`, { cause: exit.error });
  }
  if (exit.error) return exit.error;
  if (answer) return undefined;
  const words = redact(exit.stderr);
  if (/unknown (option|argument|command)|unrecognized|unexpected argument|invalid option/i.test(words)) {
    const line = startOf(words.trim().split("\n")[0] ?? "", 200);
    return new TroupeError(
      "program_too_old",
      `${command} does not know how it was started (${line}). Update ${title} to a version that speaks the Agent Client Protocol.`,
    );
  }
  if (meansNoLogin(words)) return requestError(agent, AGENT.authenticate, words.slice(-300), redact, []);
  const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  const said = words === "" ? "It said nothing on standard error." : `Its last words: ${words.slice(-WORDS)}`;
  return new TroupeError("program_died", `${title} ended without a result (${how}). ${said}`, {
    retryable: true,
  });
}

function stopError({ answer, agent: { title } }: RunFacts): RunFault | undefined {
  const reason = asText(answer?.stopReason) ?? "no reason";
  switch (reason) {
    case "end_turn":
      return undefined;
    case "max_tokens":
    case "max_turn_requests":
      return new TroupeError("limit_reached", `${title} stopped at its limit (${reason}).`);
    case "refusal":
      return new TroupeError("model_error", `${title} refused to go on.`);
    default:
      return new TroupeError("model_error", `${title} stopped before it was done (${startOf(reason, 100)}).`);
  }
}
