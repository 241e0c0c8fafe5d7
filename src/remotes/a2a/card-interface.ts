import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import { comparableOrigin, printableUrl } from "../../wire/origin.js";
import type { Card, CardInterface } from "./card.js";
import { type A2aOptions, entryOrigins, isCardUrl } from "./options.js";

/** Bindings and versions that we speak, the best first. The REST client of version 0.3 loses text, so it is not among them. */
const PREFERENCE: readonly (readonly [binding: string, version: CardInterface["version"]])[] = [
  ["JSONRPC", "1.0"],
  ["HTTP+JSON", "1.0"],
  ["JSONRPC", "0.3"],
];

/** Extensions of the protocol that we honour. */
const KNOWN_EXTENSIONS: ReadonlySet<string> = new Set();

/** Longest list of remote words in an error. */
const MAX_LISTED = 5;

/**
 * Decides how `card`'s agent is called. Its URL is final: overrides are applied, and it is checked against the entry's origins,
 * because a card that points elsewhere would get the credential and the prompt sent there.
 * @param cardUrl where the card came from; relative URLs in it are resolved against it
 * @throws TroupeError `capability_unsupported` or `policy_denied`
 */
export function chooseInterface(card: Card, cardUrl: string, options: A2aOptions): CardInterface {
  const refuse = (code: DelegationErrorCode, message: string): never => {
    throw new TroupeError<DelegationErrorCode>(code, message);
  };
  const unknown = card.requiredExtensions.filter((uri) => !KNOWN_EXTENSIONS.has(uri));
  if (unknown.length > 0) {
    refuse(
      "capability_unsupported",
      `The agent "${options.name}" requires extensions that are not supported: ${listed(unknown)}.`,
    );
  }
  const usable = PREFERENCE.flatMap(([binding, version]) =>
    card.interfaces.filter((item) => item.binding === binding && item.version === version),
  ).flatMap((item) => {
    const url = finalUrl(item.url, cardUrl, options.endpointUrlOverride);
    return url === undefined ? [] : [{ ...item, url }];
  });
  if (usable.length === 0) {
    const offered = card.interfaces.map(({ binding, version }) => `${binding} ${version}`);
    refuse(
      "capability_unsupported",
      `The card of "${options.name}" offers no interface that is supported (JSONRPC 1.0, HTTP+JSON 1.0, JSONRPC 0.3); it offers ${listed(offered)}.`,
    );
  }
  const allowed = new Set(entryOrigins(options).map(comparableOrigin));
  const chosen = usable.find(({ url }) => allowed.has(comparableOrigin(url)));
  return (
    chosen ??
    refuse(
      "policy_denied",
      `The card of "${options.name}" points to ${printableUrl(usable[0]?.url ?? "")}, which is not the entry's own origin. ` +
        "Nothing was sent there. If it is right, add its origin to trustedOrigins or set endpointUrlOverride.",
    )
  );
}

function finalUrl(url: string, cardUrl: string, override: string | undefined): string | undefined {
  if (override !== undefined && !isCardUrl(override)) return override;
  if (!URL.canParse(url, cardUrl)) return undefined;
  const resolved = new URL(url, cardUrl);
  if (override === undefined) return resolved.href;
  return new URL(resolved.pathname + resolved.search, new URL(override).origin).href;
}

function listed(words: readonly string[]): string {
  const shown = words.slice(0, MAX_LISTED).map((word) => word.slice(0, 100));
  return shown.join(", ") + (words.length > MAX_LISTED ? ", …" : "");
}
