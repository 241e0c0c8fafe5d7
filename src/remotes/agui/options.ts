import type { Clock } from "../../core/clock.js";
import type { RemoteSkill } from "../../delegation/remote.js";
import { comparableOrigin } from "../../wire/origin.js";
import {
  type CredentialOptions,
  checkCredentialOptions,
  HEADER_NAME,
  HEADER_VALUE,
  wrongOption,
} from "../http/auth.js";

/** Bounds of what a remote may take, in bytes and milliseconds. */
export interface AguiLimits {
  /** Until a connection stands. Default 5,000 ms. */
  readonly connectTimeoutMs?: number;
  /** Silence on an open stream after which it counts as lost. Default 600,000 ms. */
  readonly idleTimeoutMs?: number;
  /** One response, a whole stream included. Default 64 MiB. */
  readonly maxResponseBytes?: number;
  /** One event of a stream. Default 4 MiB. */
  readonly maxEventBytes?: number;
  /** With `resume: "repost"`: how long the agent may be out of reach before the task counts as lost. Default 60,000 ms. */
  readonly recoveryMs?: number;
}

/** Options of {@link agui}. */
export interface AguiOptions extends CredentialOptions {
  /** The endpoint that runs are posted to. */
  readonly url: string;
  /** Shown to people; the name by default. */
  readonly title?: string;
  /** What it can do, for the model. AG-UI has no card that could say it. */
  readonly description?: string;
  readonly skills?: readonly RemoteSkill[];
  /** Headers of every request that are no secret. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * What happens when a stream is lost. `none` (default): the task counts as lost. `repost`: the same request is sent again with
   * `Last-Event-ID`, if the stream had ids. Only for servers that attach to a run that they know; any other would run it twice.
   */
  readonly resume?: "none" | "repost";
  /**
   * Where a run is stopped, with `{runId}` and `{threadId}` in it. Without one a cancel only closes the connection, which no
   * server confirms.
   */
  readonly stopUrl?: string;
  /** `artifact`: the agent's state, when a run changed it, becomes the file `state.json`. `ignore` by default. */
  readonly state?: "ignore" | "artifact";
  /**
   * A run that ends with a tool call which nobody answered. `ask` (default): the result is asked for. `complete`: the call was only
   * meant to be shown.
   */
  readonly unansweredTools?: "ask" | "complete";
  readonly limits?: AguiLimits;
  readonly clock?: Clock;
  /** From 0 to 1, for the jitter of retries. Default `Math.random`. */
  readonly random?: () => number;
  /** Makes the ids of new threads. Default: UUIDs. */
  readonly createThreadId?: () => string;
}

/**
 * Checks what a host configured.
 * @throws TroupeError `invalid_input`, which names the option and never its value if that is secret.
 */
export function checkOptions(options: AguiOptions): void {
  const { name, url, stopUrl, headers = {} } = options;
  checkCredentialOptions(options);
  if (comparableOrigin(url) === undefined)
    throw wrongOption(name, "url must be an absolute http or https URL without user and password.");
  if (stopUrl !== undefined && comparableOrigin(stopUrl) === undefined)
    throw wrongOption(name, "stopUrl must be an absolute http or https URL without user and password.");
  for (const [header, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(header) || !HEADER_VALUE.test(value))
      throw wrongOption(name, `headers: "${header}" is no header, or its value cannot be one.`);
  }
}

/** The origins that may be called, and that the credential may go to. */
export function entryOrigins({ url, trustedOrigins = [] }: AguiOptions): string[] {
  return [url, ...trustedOrigins];
}
