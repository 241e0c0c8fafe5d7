import { randomBytes } from "node:crypto";

/** Makes a new identifier such as `run-5f0c…` from a prefix such as `run`. Injected so that tests are repeatable. */
export type CreateId = (prefix: string) => string;

/** The default {@link CreateId}: 96 random bits, hexadecimal. */
export const createId: CreateId = (prefix) => `${prefix}-${randomBytes(12).toString("hex")}`;

/** A fresh 256-bit secret, base64url without padding (43 characters). */
export function createToken(): string {
  return randomBytes(32).toString("base64url");
}
