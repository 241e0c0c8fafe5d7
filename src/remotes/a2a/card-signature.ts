import { createPublicKey, verify } from "node:crypto";
import { type AgentCard, canonicalizeAgentCard } from "@a2a-js/sdk";
import type { SignatureKey } from "./options.js";

/** How a card stands with the keys that the host trusts. */
export type SignatureState = "valid" | "invalid" | "absent";

/** Algorithms that are accepted, with what Node calls them. The card's own word for it never widens this. */
const ALGORITHMS: Readonly<Record<string, { readonly hash: string | null; readonly type: string }>> = {
  ES256: { hash: "sha256", type: "ec" },
  ES384: { hash: "sha384", type: "ec" },
  RS256: { hash: "sha256", type: "rsa" },
  EdDSA: { hash: null, type: "ed25519" },
};
const MAX_SIGNATURES = 10;

/**
 * Checks the signatures of a card as it came over the wire (specification 8.4): one that verifies is enough. The typed form of the
 * SDK must not be used here, because it drops members that are signed.
 */
export function checkSignature(raw: unknown, keys: readonly SignatureKey[]): SignatureState {
  const signatures: unknown = Object(raw).signatures;
  if (!Array.isArray(signatures) || signatures.length === 0) return "absent";
  let payload: string;
  try {
    payload = Buffer.from(canonicalizeAgentCard(raw as AgentCard)).toString("base64url");
  } catch {
    return "invalid";
  }
  const valid = signatures.slice(0, MAX_SIGNATURES).some((entry) => verifies(entry, payload, keys));
  return valid ? "valid" : "invalid";
}

function verifies(entry: unknown, payload: string, keys: readonly SignatureKey[]): boolean {
  const { protected: encoded, signature } = Object(entry);
  if (typeof encoded !== "string" || typeof signature !== "string") return false;
  try {
    const header = Object(JSON.parse(Buffer.from(encoded, "base64url").toString("utf8")));
    const algorithm = typeof header.alg === "string" ? ALGORITHMS[header.alg] : undefined;
    const jwk = keys.find(({ kid }) => kid === header.kid);
    // RFC 7515, 4.1.11: what is critical and not known must be refused.
    if (algorithm === undefined || jwk === undefined || header.crit !== undefined) return false;
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    if (key.asymmetricKeyType !== algorithm.type) return false;
    return verify(
      algorithm.hash,
      Buffer.from(`${encoded}.${payload}`),
      { key, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
  } catch {
    return false;
  }
}
