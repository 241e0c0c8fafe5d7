import { randomBytes } from "node:crypto";

/** Makes a new identifier such as `run-5f0c…` from a prefix such as `run`. Injected so that tests are repeatable. */
export type CreateId = (prefix: string) => string;

/** Bytes of one identifier. */
const ID_BYTES = 12;

/** Asking the system for each one costs more than all else about it. */
let pool = Buffer.alloc(0);

/** The default {@link CreateId}: 96 random bits, hexadecimal. */
export const createId: CreateId = (prefix) => {
  if (pool.byteLength < ID_BYTES) pool = randomBytes(ID_BYTES * 128);
  const id = pool.toString("hex", 0, ID_BYTES);
  pool = pool.subarray(ID_BYTES);
  return `${prefix}-${id}`;
};

/** A fresh 256-bit secret, base64url without padding (43 characters). */
export function createToken(): string {
  return randomBytes(32).toString("base64url");
}
