/** Replaces what must not be shown. */
export type Redactor = (text: string) => string;

/** Shorter values are too common to be cut out of a text, and too short to be a credential. */
const SHORTEST_SECRET = 8;

/** Names of environment variables and headers whose values are credentials. */
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie/i;

/** Whether a variable or header of this name holds a credential. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/**
 * Makes a {@link Redactor} for known secrets. A value such as `Bearer abc` hides `abc` too, and a value is also found in the form
 * it has inside JSON.
 */
export function createRedactor(values: Iterable<string>): Redactor {
  const secrets = new Set<string>();
  for (const value of values) {
    for (const part of [value, ...value.split(/\s+/)]) {
      if (part.length < SHORTEST_SECRET || /^(bearer|basic|digest)$/i.test(part)) continue;
      secrets.add(part);
      secrets.add(JSON.stringify(part).slice(1, -1));
    }
  }
  // The longest first: a secret that contains another must go as a whole.
  const ordered = [...secrets].sort((one, other) => other.length - one.length);
  return (text) =>
    ordered.reduce(
      (rest, secret) => (rest.includes(secret) ? rest.replaceAll(secret, "[redacted]") : rest),
      text,
    );
}
