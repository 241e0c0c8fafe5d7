/** What stands where a secret was. */
export const REDACTED = "[redacted]";

/** Shorter ones are too likely to be ordinary words. */
const SHORTEST_SECRET = 4;

/**
 * Makes a function that removes `secrets` from text, also where they are encoded as base64, base64url, URL component, form value,
 * JSON string or hexadecimal. Secrets of fewer than four characters are not looked for.
 */
export function createRedactor(secrets: Iterable<string>): (text: string) => string {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    for (const form of encodings(secret)) if (form.length >= SHORTEST_SECRET) forms.add(form);
  }
  if (forms.size === 0) return (text) => text;
  // Longest first, so that no form leaves a part of a longer one behind.
  const alternatives = [...forms].sort((left, right) => right.length - left.length).map(escapeRegExp);
  const pattern = new RegExp(alternatives.join("|"), "g");
  return (text) => text.replace(pattern, REDACTED);
}

function encodings(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const json = JSON.stringify(secret).slice(1, -1);
  const component = encodeURIComponent(bytes.toString("utf8"));
  return [
    secret,
    json,
    // Escaped twice: JSON within a JSON string.
    JSON.stringify(json).slice(1, -1),
    component,
    component.replaceAll(/%[0-9A-F]{2}/g, (sequence) => sequence.toLowerCase()),
    new URLSearchParams({ "": secret }).toString().slice(1),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    ...base64Forms(bytes),
  ];
}

/**
 * In base64 a secret looks different at each of three offsets, as in `Basic base64(user:secret)`. Only the characters that the
 * secret alone decides are looked for.
 */
function base64Forms(bytes: Buffer): string[] {
  const forms: string[] = [bytes.toString("base64"), bytes.toString("base64url")];
  for (let offset = 0; offset < 3; offset++) {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replaceAll("=", "");
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    // A fragment of a short secret would match by chance.
    const fragment = text.slice(first, last);
    if (fragment.length >= 8) forms.push(fragment, fragment.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return forms;
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
