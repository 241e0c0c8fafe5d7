import type { Clock, Timer } from "../../core/clock.js";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import { WireError } from "../../wire/errors.js";
import { parseJson } from "../../wire/json.js";
import { printableUrl } from "../../wire/origin.js";

/** Options of {@link TokenSource}. */
export interface TokenSourceOptions {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope?: string;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
}

/** A token is renewed this long before it ends, in milliseconds. */
const MARGIN_MS = 30_000;
/** RFC 6749 leaves the life of a token open; this is believed when the server does not say. */
const DEFAULT_LIFE_MS = 300_000;
const TIMEOUT_MS = 10_000;

/** Tokens by OAuth 2 client credentials (RFC 6749, 4.4): cached, and fetched once for all who wait. */
export class TokenSource {
  readonly #options: TokenSourceOptions;
  #token: { readonly value: string; readonly freshUntil: number } | undefined;
  #pending: Promise<string> | undefined;

  constructor(options: TokenSourceOptions) {
    this.#options = options;
  }

  /** @throws TroupeError `agent_unavailable`; its text holds nothing that the token server said. */
  get(): Promise<string> {
    if (this.#token && this.#options.clock.now() < this.#token.freshUntil)
      return Promise.resolve(this.#token.value);
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** The token was refused. One that has been replaced meanwhile stays. */
  discard(token: string): void {
    if (this.#token?.value === token) this.#token = undefined;
  }

  async #fetch(): Promise<string> {
    const controller = new AbortController();
    const timer: Timer = this.#options.clock.timer(TIMEOUT_MS, () =>
      controller.abort(new WireError("silent", `no answer within ${TIMEOUT_MS} ms`)),
    );
    try {
      let response = await this.#ask(true, controller.signal);
      // Both ways to send the secret are in use, and few servers take either.
      if (response.status === 400) response = await this.#ask(false, controller.signal);
      if (!response.ok) throw this.#failure(`HTTP ${response.status}`, response.status >= 500);
      const body = parseJson(await response.text());
      const token = typeof body === "object" && body !== null ? Object(body).access_token : undefined;
      if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
        throw this.#failure("an answer without a token", false);
      const seconds = Number(Object(body).expires_in);
      const life = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : DEFAULT_LIFE_MS;
      const freshUntil = this.#options.clock.now() + Math.max(life - MARGIN_MS, life / 2);
      this.#token = { value: token, freshUntil };
      return token;
    } catch (error) {
      if (error instanceof TroupeError && !(error instanceof WireError)) throw error;
      throw this.#failure(
        error instanceof WireError
          ? error.status === undefined
            ? error.code
            : `HTTP ${error.status}`
          : "a failure",
        error instanceof WireError && error.retryable,
      );
    } finally {
      timer.cancel();
    }
  }

  #ask(basic: boolean, signal: AbortSignal): Promise<Response> {
    const { tokenUrl, clientId, clientSecret, scope, fetch } = this.#options;
    const form = new URLSearchParams({ grant_type: "client_credentials" });
    if (scope !== undefined) form.set("scope", scope);
    const headers: Record<string, string> = {
      "Content-Type": "application/x-www-form-urlencoded",
      Accept: "application/json",
    };
    if (basic) {
      // RFC 6749, 2.3.1: both are form-encoded before they are joined.
      const pair = [clientId, clientSecret].map((part) =>
        new URLSearchParams({ "": part }).toString().slice(1),
      );
      headers.Authorization = `Basic ${Buffer.from(pair.join(":")).toString("base64")}`;
    } else {
      form.set("client_id", clientId);
      form.set("client_secret", clientSecret);
    }
    return fetch(tokenUrl, { method: "POST", headers, body: form.toString(), signal });
  }

  #failure(reason: string, retryable: boolean): TroupeError<DelegationErrorCode> {
    return new TroupeError(
      "agent_unavailable",
      `No token could be had from ${printableUrl(this.#options.tokenUrl)} (${reason}). Check tokenUrl, clientId and clientSecret.`,
      { retryable },
    );
  }
}
