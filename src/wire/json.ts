import { WireError } from "./errors.js";
import { MAX_JSON_DEPTH } from "./limits.js";

/** Options of {@link parseJson}. */
export interface ParseJsonOptions {
  /** Levels of nesting. Default {@link MAX_JSON_DEPTH}. */
  readonly maxDepth?: number;
}

/**
 * `JSON.parse` for text from outside. Refused, because they would be changed or do harm silently: integers that a double cannot
 * hold exactly, members named `__proto__`, and nesting deeper than `maxDepth`.
 * @throws WireError `malformed`; the message quotes nothing of the text.
 */
export function parseJson(text: string, options: ParseJsonOptions = {}): unknown {
  const suspicious = scan(text, options.maxDepth ?? MAX_JSON_DEPTH);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new WireError("malformed", "The text is not JSON.");
  }
  if (suspicious) refusePrototypeKeys(value);
  return value;
}

/** Checks depth and integers in one pass, before anything is built. Returns whether a `__proto__` may be among the keys. */
function scan(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) {
      index = endOfString(text, index);
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) {
        throw new WireError("malformed", `The JSON text is nested more than ${maxDepth} levels deep.`);
      }
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const start = index;
      while (index + 1 < text.length && isNumberCharacter(text.charCodeAt(index + 1))) index++;
      // Fifteen digits always fit.
      if (index - start >= 15) refuseRoundedInteger(text.slice(start, index + 1));
    }
  }
  return text.includes("__proto__") || /\\u005f/i.test(text);
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x5c) index++;
    else if (code === 0x22) return index;
  }
  return text.length;
}

function isNumberCharacter(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    code === 0x2e ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x45 ||
    code === 0x65
  );
}

function refuseRoundedInteger(token: string): void {
  // A number with an exponent is a measurement, not an identifier.
  if (/[eE]/.test(token)) return;
  const value = Number(token);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new WireError("malformed", "The JSON text holds an integer beyond 2^53, which would be rounded.");
  }
}

function refusePrototypeKeys(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Object.hasOwn(value, "__proto__")) {
    throw new WireError("malformed", "The JSON text has a member named __proto__.");
  }
  for (const child of Object.values(value)) refusePrototypeKeys(child);
}
