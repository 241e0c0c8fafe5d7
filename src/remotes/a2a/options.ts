import type { Clock } from "../../core/clock.js";
import { TroupeError } from "../../core/errors.js";
import { comparableOrigin } from "../../wire/origin.js";

/** How calls to a remote prove who they are. */
export type A2aAuth =
  | { readonly mode: "none" }
  | { readonly mode: "bearer"; readonly token: string }
  /** `headerName` defaults to `X-API-Key`. */
  | { readonly mode: "api_key"; readonly key: string; readonly headerName?: string }
  /**
   * OAuth 2 client credentials. The client's secret goes to the origin of `tokenUrl` only, the token to the entry's origins only.
   */
  | {
      readonly mode: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope?: string;
    };

/** What a credential is asked for. */
export interface CredentialContext {
  /** The entry's name. */
  readonly agent: string;
  /** Absent for what belongs to no delegation, such as the card. */
  readonly delegationId?: string;
}

/** Whether the card's signature is checked, against {@link A2aOptions.signatureKeys} alone. */
export type SignaturePolicy = "off" | "if-present" | "required";

/** Bounds of what a remote may take, in bytes and milliseconds. */
export interface A2aLimits {
  /** Fetching the card, all tries together. Default 5,000 ms. */
  readonly cardTimeoutMs?: number;
  /** How long a card is used without asking again, when its server does not say. Default 30,000 ms. */
  readonly cardMaxAgeMs?: number;
  /** Until a connection stands. Default 5,000 ms. */
  readonly connectTimeoutMs?: number;
  /** Silence on an open stream after which it counts as lost. Default 600,000 ms. */
  readonly idleTimeoutMs?: number;
  /** One response, a whole stream included. Default 64 MiB. */
  readonly maxResponseBytes?: number;
  /** One event of a stream. Default 4 MiB. */
  readonly maxEventBytes?: number;
  /** How long a running task's agent may be out of reach before the task counts as lost. Default 60,000 ms. */
  readonly recoveryMs?: number;
  /** How long a task whose stream was lost may stay as it is before it counts as dead. Default 600,000 ms. */
  readonly quietMs?: number;
}

/** Options of {@link a2a}. */
export interface A2aOptions {
  /** The key by which the model knows the remote. */
  readonly name: string;
  /**
   * The card's full URL, taken as it is; or a base URL, under which `/.well-known/agent-card.json` and then
   * `/.well-known/agent.json` are tried.
   */
  readonly agentCardUrl: string;
  /**
   * Where calls really go. The URL of a card: the card is fetched there, and its interfaces are called at that origin. Any other
   * URL is the endpoint itself.
   */
  readonly endpointUrlOverride?: string;
  readonly auth?: A2aAuth;
  /**
   * Headers with the credential of one run and agent, asked for each request; beside or instead of `auth`. They go to the entry's
   * origins only.
   */
  readonly credential?: (
    context: CredentialContext,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** Default: `if-present` with keys, `off` without. */
  readonly signature?: SignaturePolicy;
  /** Public keys by `kid` that may sign the card. Keys that a card names by itself are never fetched. */
  readonly signatureKeys?: readonly SignatureKey[];
  /** Origins beside the entry's own that may be called, with the credential. */
  readonly trustedOrigins?: readonly string[];
  readonly limits?: A2aLimits;
  readonly clock?: Clock;
  /** From 0 to 1, for the jitter of retries. Default `Math.random`. */
  readonly random?: () => number;
}

/** A public key as a JSON Web Key. */
export interface SignatureKey {
  readonly kid: string;
  readonly [member: string]: unknown;
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Printable ASCII: anything else cannot be a header value everywhere. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Checks what a host configured.
 * @throws TroupeError `invalid_input`, which names the option and never its value if that is secret.
 */
export function checkOptions(options: A2aOptions): void {
  const refuse = (text: string): never => {
    throw new TroupeError("invalid_input", `Remote agent "${options.name}": ${text}`);
  };
  if (options.name.trim() === "") refuse("it needs a name.");
  if (comparableOrigin(options.agentCardUrl) === undefined) {
    refuse("agentCardUrl must be an absolute http or https URL without user and password.");
  }
  if (
    options.endpointUrlOverride !== undefined &&
    comparableOrigin(options.endpointUrlOverride) === undefined
  ) {
    refuse("endpointUrlOverride must be an absolute http or https URL without user and password.");
  }
  for (const origin of options.trustedOrigins ?? []) {
    if (comparableOrigin(origin) === undefined)
      refuse("each of trustedOrigins must be an absolute http or https URL.");
  }
  const { auth } = options;
  if (auth?.mode === "bearer" && !HEADER_VALUE.test(auth.token)) {
    refuse("auth.token is empty or holds characters that an HTTP header cannot carry.");
  }
  if (auth?.mode === "api_key") {
    if (!HEADER_VALUE.test(auth.key))
      refuse("auth.key is empty or holds characters that an HTTP header cannot carry.");
    if (auth.headerName !== undefined && !HEADER_NAME.test(auth.headerName))
      refuse("auth.headerName is not a header name.");
  }
  if (auth?.mode === "oauth2") {
    if (comparableOrigin(auth.tokenUrl) === undefined)
      refuse("auth.tokenUrl must be an absolute http or https URL without user and password.");
    if (auth.clientId === "" || auth.clientSecret === "")
      refuse("auth.clientId and auth.clientSecret must not be empty.");
  }
  if (options.signature === "required" && (options.signatureKeys ?? []).length === 0)
    refuse('signature "required" needs signatureKeys.');
}

/** Whether `url` names a card rather than a base or an endpoint. */
export function isCardUrl(url: string): boolean {
  const { pathname } = new URL(url);
  return pathname.includes("/.well-known/") || pathname.endsWith(".json");
}

/** The origins that may be called, and that the credential may go to. */
export function entryOrigins(options: A2aOptions): string[] {
  const { agentCardUrl, endpointUrlOverride, trustedOrigins = [] } = options;
  return [
    agentCardUrl,
    ...(endpointUrlOverride === undefined ? [] : [endpointUrlOverride]),
    ...trustedOrigins,
  ];
}
