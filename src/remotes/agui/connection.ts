import { systemClock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import type { RemoteCaller } from "../../delegation/remote.js";
import { createGuardedFetch, type GuardedFetch } from "../../wire/guarded-fetch.js";
import { parseJson } from "../../wire/json.js";
import { MAX_EVENT_BYTES } from "../../wire/limits.js";
import type { Redactor } from "../../wire/redact.js";
import { readSse } from "../../wire/sse-reader.js";
import type { CredentialContext } from "../http/auth.js";
import { Credentials } from "../http/credentials.js";
import { NotAgui, RefusedRun } from "./failure.js";
import type { Json } from "./json.js";
import { type AguiOptions, entryOrigins } from "./options.js";

const DEFAULT_IDLE_TIMEOUT_MS = 600_000;

/** One event of a stream. */
export interface Delivery {
  readonly event: unknown;
  /** What the stream can be gone on with after it. */
  readonly id?: string;
}

/** What a call belongs to. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly delegationId?: string;
  /** For whom it is made. */
  readonly run?: RemoteCaller;
  /** W3C trace context, sent as the header of this name. */
  readonly traceparent?: string;
  /** Asks to go on after this event. */
  readonly lastEventId?: string;
}

/** Events that nothing is made of, and that frameworks send by the hundred; seen at the beginning, where all write the type. */
const IGNORED = /^\{\s*"type"\s*:\s*"(?:RAW|STEP_STARTED|STEP_FINISHED|STATE_SNAPSHOT|STATE_DELTA)"/;
const IGNORED_WITH_STATE = /^\{\s*"type"\s*:\s*"(?:RAW|STEP_STARTED|STEP_FINISHED)"/;
/** What VoltAgent puts before its JSON, and a byte order mark. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const BEFORE_JSON = /^[\x00-\x1f\ufeff]+/;

/** An event of which only its existence counts. */
const NOTHING: Json = { type: "RAW" };

/** Calls to one endpoint, with the entry's credential. */
export class Connection {
  readonly #options: AguiOptions;
  readonly #credentials: Credentials;
  readonly #guard: GuardedFetch;

  constructor(options: AguiOptions) {
    this.#options = options;
    this.#credentials = new Credentials(options);
    const { limits = {}, clock = systemClock } = options;
    const { idleTimeoutMs, maxResponseBytes, connectTimeoutMs } = limits;
    this.#guard = createGuardedFetch({
      clock,
      origins: entryOrigins(options),
      idleTimeoutMs: idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      acceptStatus: isJsonBody,
      ...defined({ maxResponseBytes, connectTimeoutMs }),
    });
  }

  /** Removes every credential of the entry from a text. */
  get redact(): Redactor {
    return this.#credentials.redact;
  }

  /**
   * Posts a run.
   * @returns its events, after the server has answered.
   * @throws WireError, RefusedRun, NotAgui, or the signal's reason.
   */
  async run(input: Json, call: CallOptions): Promise<AsyncGenerator<Delivery, void, undefined>> {
    const more: Record<string, string> = { accept: "text/event-stream" };
    if (call.lastEventId !== undefined) more["last-event-id"] = call.lastEventId;
    const response = await this.#post(this.#options.url, input, more, call);
    const contentType = response.headers.get("content-type") ?? "";
    if (!/^\s*text\/event-stream\b/i.test(contentType) || response.body === null) {
      await response.body?.cancel().catch(() => undefined);
      throw new NotAgui(`it answered with ${contentType.split(";", 1)[0]?.slice(0, 100) || "no content"}`);
    }
    return this.#events(response.body);
  }

  /** Asks to stop a run. @throws as {@link run}. */
  async stop(url: string, call: CallOptions): Promise<void> {
    const response = await this.#post(url, {}, { accept: "application/json" }, call);
    await response.body?.cancel().catch(() => undefined);
  }

  async close(): Promise<void> {
    await Promise.all([this.#guard.close(), this.#credentials.close()]);
  }

  async #post(
    url: string,
    body: Json,
    more: Readonly<Record<string, string>>,
    { signal, delegationId, run, traceparent }: CallOptions,
  ): Promise<Response> {
    const context: CredentialContext = { agent: this.#options.name, ...defined({ delegationId }), ...run };
    const response = await this.#credentials.use(context, (credential) =>
      this.#guard.fetch(url, {
        method: "POST",
        headers: {
          ...this.#options.headers,
          "content-type": "application/json",
          ...more,
          ...defined({ traceparent }),
          ...credential,
        },
        body: JSON.stringify(body),
        signal,
      }),
    );
    if (response.ok) return response;
    const text = await response.text();
    throw new RefusedRun(response.status, parseOrNothing(text));
  }

  async *#events(body: ReadableStream<Uint8Array>): AsyncGenerator<Delivery, void, undefined> {
    const maxEventBytes = this.#options.limits?.maxEventBytes ?? MAX_EVENT_BYTES;
    const ignored = this.#options.state === "artifact" ? IGNORED_WITH_STATE : IGNORED;
    for await (const { data, id } of readSse(body, { maxEventBytes })) {
      const json = data.replace(BEFORE_JSON, "");
      // Older servers end their streams with a word of OpenAI's.
      if (json === "" || json === "[DONE]") continue;
      const event = ignored.test(json) ? NOTHING : parseJson(json);
      yield { event, ...defined({ id }) };
    }
  }
}

function isJsonBody(answer: { readonly headers: Pick<Headers, "get"> }): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(answer.headers.get("content-type") ?? "");
}

function parseOrNothing(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
