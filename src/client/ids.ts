/** A new identifier such as `run-5f0c…`: 96 random bits, hexadecimal. Works where `crypto.randomUUID` is missing (plain HTTP). */
export function createClientId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `${prefix}-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
