import { type Clock, systemClock } from "../../core/clock.js";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import { WireError } from "../../wire/errors.js";
import { createGuardedFetch, type GuardedFetch } from "../../wire/guarded-fetch.js";
import { parseJson } from "../../wire/json.js";
import { MAX_CARD_BYTES } from "../../wire/limits.js";
import { printableUrl } from "../../wire/origin.js";
import { abortable } from "../http/own-signal.js";
import { type Card, parseCard } from "./card.js";
import { checkSignature } from "./card-signature.js";
import type { Credentials } from "./credentials.js";
import { type A2aOptions, entryOrigins, isCardUrl } from "./options.js";

/** A card and where it came from. */
export interface FetchedCard {
  readonly card: Card;
  readonly url: string;
}

interface CachedCard extends FetchedCard {
  readonly etag: string | undefined;
  /** Milliseconds since the epoch; until then nobody asks again. */
  readonly freshUntil: number;
}

const DEFAULT_CARD_TIMEOUT_MS = 5_000;
const DEFAULT_CARD_MAX_AGE_MS = 30_000;
/** The longest `max-age` that is believed. */
const LONGEST_MAX_AGE_MS = 300_000;

/** Fetches one agent's card, keeps it, and revalidates it with its ETag. */
export class CardSource {
  readonly #options: A2aOptions;
  readonly #clock: Clock;
  readonly #credentials: Credentials;
  readonly #open: GuardedFetch;
  #cached: CachedCard | undefined;
  #pending: Promise<FetchedCard> | undefined;

  constructor(options: A2aOptions, credentials: Credentials) {
    this.#options = options;
    this.#credentials = credentials;
    this.#clock = options.clock ?? systemClock;
    this.#open = createGuardedFetch({
      clock: this.#clock,
      origins: entryOrigins(options),
      maxResponseBytes: MAX_CARD_BYTES,
      ...(options.limits?.connectTimeoutMs === undefined
        ? {}
        : { connectTimeoutMs: options.limits.connectTimeoutMs }),
    });
  }

  /**
   * The card; fresh, revalidated or fetched. Calls that overlap share one fetch, which no single caller can abort.
   * @throws TroupeError `agent_unavailable`, or the signal's reason
   */
  async get(signal: AbortSignal): Promise<FetchedCard> {
    signal.throwIfAborted();
    if (this.#cached && this.#clock.now() < this.#cached.freshUntil) return this.#cached;
    this.#pending ??= this.#load().finally(() => {
      this.#pending = undefined;
    });
    return abortable(this.#pending, signal);
  }

  async close(): Promise<void> {
    await this.#open.close();
  }

  async #load(): Promise<FetchedCard> {
    const limit = this.#options.limits?.cardTimeoutMs ?? DEFAULT_CARD_TIMEOUT_MS;
    const controller = new AbortController();
    const timer = this.#clock.timer(limit, () => {
      controller.abort(new WireError("silent", `no answer within ${limit} ms`, { retryable: true }));
    });
    const tried: string[] = [];
    let retryable = false;
    try {
      for (const url of cardUrls(this.#options)) {
        try {
          const cached = await this.#fetch(url, controller.signal);
          if (cached) {
            this.#cached = cached;
            return cached;
          }
          tried.push(`${printableUrl(url)}: not an agent card`);
        } catch (error) {
          if (error instanceof TroupeError && !(error instanceof WireError)) throw error;
          const reason = controller.signal.aborted ? controller.signal.reason : error;
          tried.push(`${printableUrl(url)}: ${outcome(reason)}`);
          retryable ||= reason instanceof WireError && reason.retryable;
          // Another path of the same server would fare no better.
          if (reason instanceof WireError && reason.status === undefined && reason.code !== "malformed")
            break;
        }
      }
    } finally {
      timer.cancel();
    }
    throw new TroupeError<DelegationErrorCode>(
      "agent_unavailable",
      `The card of "${this.#options.name}" could not be read. Tried ${tried.join("; ")}. Check agentCardUrl${
        this.#credentials.present ? " and auth" : ""
      }, and that the agent runs.`,
      { retryable },
    );
  }

  /** @returns `undefined` when there is something at `url`, but no card. */
  async #fetch(url: string, signal: AbortSignal): Promise<CachedCard | undefined> {
    const known = this.#cached?.url === url ? this.#cached : undefined;
    const headers = {
      Accept: "application/json",
      // A server that speaks several versions picks the card's shape by it, and some refuse to answer without.
      "A2A-Version": "1.0",
      ...(known?.etag === undefined ? {} : { "If-None-Match": known.etag }),
    };
    let response: Response;
    try {
      response = await this.#open.fetch(url, { headers, signal });
    } catch (error) {
      const refused = error instanceof WireError && error.code === "unauthorized";
      if (!refused || !this.#credentials.present) throw error;
      // All who want the card wait for this, so a credential that never comes must not hold it for ever.
      const using = this.#credentials.use({ agent: this.#options.name }, (credential) =>
        this.#open.fetch(url, { headers: { ...headers, ...credential }, signal }),
      );
      response = await abortable(using, signal);
    }
    const freshUntil = this.#clock.now() + this.#maxAge(response.headers.get("cache-control"));
    if (response.status === 304 && known) return { ...known, freshUntil };
    const raw = await response.text();
    const signed = this.#checkSignature(raw);
    const card = parseCard(raw, { signed });
    if (card === undefined) return undefined;
    return { card, url, etag: response.headers.get("etag") ?? undefined, freshUntil };
  }

  /**
   * @returns whether the host's keys vouch for the card.
   * @throws TroupeError `policy_denied`.
   */
  #checkSignature(raw: string): boolean {
    const { name, signatureKeys = [] } = this.#options;
    const policy = this.#options.signature ?? (signatureKeys.length > 0 ? "if-present" : "off");
    if (policy === "off") return false;
    const state = checkSignature(parseJson(raw), signatureKeys);
    if (state === "valid") return true;
    if (state === "absent" && policy === "if-present") return false;
    throw new TroupeError<DelegationErrorCode>(
      "policy_denied",
      state === "absent"
        ? `The card of "${name}" is not signed, which its entry requires. Nothing was sent.`
        : `The card of "${name}" is signed, but by none of its entry's signatureKeys, or it was changed. Nothing was sent.`,
    );
  }

  #maxAge(cacheControl: string | null): number {
    if (cacheControl !== null && /\bno-(?:cache|store)\b/i.test(cacheControl)) return 0;
    const seconds = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl ?? "")?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds) * 1000, LONGEST_MAX_AGE_MS);
    return this.#options.limits?.cardMaxAgeMs ?? DEFAULT_CARD_MAX_AGE_MS;
  }
}

/** Where the card may be, in the order of trying. */
function cardUrls(options: A2aOptions): string[] {
  const { agentCardUrl, endpointUrlOverride: override } = options;
  const configured = override !== undefined && isCardUrl(override) ? override : agentCardUrl;
  if (isCardUrl(configured)) return [configured];
  const base = new URL(configured);
  if (base.search !== "") return [configured];
  const under = (path: string) => new URL(base.pathname.replace(/\/*$/, "") + path, base.origin).href;
  return [
    // A path of its own may be the card's; a bare origin is not.
    ...(base.pathname === "/" ? [] : [configured]),
    under("/.well-known/agent-card.json"),
    under("/.well-known/agent.json"),
  ];
}

function outcome(error: unknown): string {
  if (!(error instanceof WireError)) return "failed";
  if (error.status !== undefined) return `HTTP ${error.status}`;
  return error.code === "unreachable" ? "no connection" : error.message;
}
