import type { Clock } from "../../core/clock.js";
import { comparableOrigin } from "../../wire/origin.js";
import {
  type CredentialOptions,
  checkCredentialOptions,
  type RemoteAuth,
  wrongOption,
} from "../http/auth.js";

export type { CredentialContext } from "../http/auth.js";

/** How calls to a remote prove who they are. */
export type A2aAuth = RemoteAuth;

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
export interface A2aOptions extends CredentialOptions {
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
  /** Default: `if-present` with keys, `off` without. */
  readonly signature?: SignaturePolicy;
  /** Public keys by `kid` that may sign the card. Keys that a card names by itself are never fetched. */
  readonly signatureKeys?: readonly SignatureKey[];
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

/**
 * Checks what a host configured.
 * @throws TroupeError `invalid_input`, which names the option and never its value if that is secret.
 */
export function checkOptions(options: A2aOptions): void {
  const refuse = (text: string): never => {
    throw wrongOption(options.name, text);
  };
  checkCredentialOptions(options);
  if (comparableOrigin(options.agentCardUrl) === undefined) {
    refuse("agentCardUrl must be an absolute http or https URL without user and password.");
  }
  if (
    options.endpointUrlOverride !== undefined &&
    comparableOrigin(options.endpointUrlOverride) === undefined
  ) {
    refuse("endpointUrlOverride must be an absolute http or https URL without user and password.");
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
