/** What stands where a secret was. */
export const REDACTED = "[redacted]";

/** Shorter ones are too likely to be ordinary words. */
const SHORTEST_SECRET = 4;

/** Removes secrets from text. */
export interface Redactor {
  (text: string): string;
  /** Whether there is any secret to look for. */
  readonly active: boolean;
  /** Parts a text that goes on: what can be said of it now, and an end that may be the beginning of a secret. */
  split(text: string): Split;
}

/** A text that goes on. */
export interface Split {
  /** Without secrets. */
  readonly said: string;
  /** As it came; put it before what comes next. */
  readonly held: string;
}

/**
 * Makes a {@link Redactor} that removes `secrets` from text, also where they are encoded as base64, base64url, URL component, form value,
 * JSON string or hexadecimal. Secrets of fewer than four characters are not looked for.
 */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    for (const form of encodings(secret)) if (form.length >= SHORTEST_SECRET) forms.add(form);
  }
  if (forms.size === 0) {
    const split = (text: string) => ({ said: text, held: "" });
    return Object.assign((text: string) => text, { active: false, split });
  }
  const find = createFinder(forms);
  const redact = (text: string) => {
    let clean = "";
    let start = 0;
    for (let found = find(text, 0); found !== undefined; found = find(text, start)) {
      clean += text.slice(start, found.index) + REDACTED;
      start = found.end;
    }
    return start === 0 ? text : clean + text.slice(start);
  };
  const unfinished = createBeginnings(forms);
  const split = (text: string): Split => {
    const end = text.length - unfinished(text);
    // Nothing that is complete may be cut in two.
    const across = end === text.length ? undefined : matchAcross(text, find, end);
    if (across === undefined) return { said: redact(text.slice(0, end)), held: text.slice(end) };
    const rest = split(text.slice(across));
    return { said: redact(text.slice(0, across)) + rest.said, held: rest.held };
  };
  return Object.assign(redact, { active: true, split });
}

interface Found {
  readonly index: number;
  readonly end: number;
}

/** Finds the next of `forms` in a text, the longest where several begin. */
type Find = (text: string, from: number) => Found | undefined;

/**
 * Looks for the first characters of all forms at once, and compares the rest by hand: a pattern of whole tokens takes longer to
 * compile than anything is worth that a remote says.
 */
function createFinder(forms: ReadonlySet<string>): Find {
  const byHead = new Map<string, string[]>();
  // Longest first, so that no form leaves a part of a longer one behind.
  for (const form of [...forms].sort((left, right) => right.length - left.length)) {
    const head = form.slice(0, SHORTEST_SECRET);
    const alike = byHead.get(head);
    if (alike === undefined) byHead.set(head, [form]);
    else alike.push(form);
  }
  const heads = new RegExp([...byHead.keys()].map(escapeRegExp).join("|"), "g");
  return (text, from) => {
    heads.lastIndex = from;
    for (let match = heads.exec(text); match !== null; match = heads.exec(text)) {
      const { index } = match;
      const form = byHead.get(match[0])?.find((candidate) => text.startsWith(candidate, index));
      if (form !== undefined) return { index, end: index + form.length };
      heads.lastIndex = index + 1;
    }
    return undefined;
  };
}

/** Where a match ends that begins before `place` and ends behind it. */
function matchAcross(text: string, find: Find, place: number): number | undefined {
  for (let found = find(text, 0); found !== undefined; found = find(text, found.end)) {
    if (found.index >= place) return undefined;
    if (found.end > place) return found.end;
  }
  return undefined;
}

/** Finds the longest end of a text with which one of `forms` begins. Hardly looks at characters that begin none. */
function createBeginnings(forms: ReadonlySet<string>): (text: string) => number {
  let longest = 0;
  const first = new Set<number>();
  /** By their first characters, and by fewer for what is near the end of a text. */
  const byHead = new Map<string, string[]>();
  for (const form of forms) {
    longest = Math.max(longest, form.length - 1);
    first.add(form.charCodeAt(0));
    for (let length = 1; length <= SHORTEST_SECRET; length++) {
      const head = form.slice(0, length);
      const alike = byHead.get(head);
      if (alike === undefined) byHead.set(head, [form]);
      else alike.push(form);
    }
  }
  return (text) => {
    for (let start = Math.max(0, text.length - longest); start < text.length; start++) {
      if (!first.has(text.charCodeAt(start))) continue;
      const alike = byHead.get(text.slice(start, start + SHORTEST_SECRET));
      if (alike === undefined) continue;
      const end = text.slice(start);
      if (alike.some((form) => form.length > end.length && form.startsWith(end))) return end.length;
    }
    return 0;
  };
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
