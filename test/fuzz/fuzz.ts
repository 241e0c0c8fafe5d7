import { inspect } from "node:util";

/** A source of numbers that gives the same for the same seed (Mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** From 0 to `limit`, without `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly [T, ...T[]] | readonly T[]): T {
    const item = items[this.below(items.length)];
    if (items.length === 0) throw new Error("Nothing to pick from.");
    return item as T;
  }

  /** Text as nobody wants it: control characters, halves of characters, markup, paths, protocol words. */
  text(): string {
    if (this.chance(0.4)) return this.pick(WORDS);
    let text = "";
    for (let count = this.below(8); count > 0; count--)
      text += this.chance(0.7) ? String.fromCharCode(32 + this.below(95)) : this.pick(PIECES);
    return text;
  }

  /** Any JSON value. */
  json(depth = 2): unknown {
    switch (this.below(depth > 0 ? 9 : 7)) {
      case 0:
        return null;
      case 1:
        return this.chance(0.5);
      case 2:
        return this.pick(NUMBERS);
      case 7:
        return Array.from({ length: this.below(4) }, () => this.json(depth - 1));
      case 8:
        return Object.fromEntries(
          Array.from({ length: this.below(4) }, () => [this.text(), this.json(depth - 1)]),
        );
      default:
        return this.text();
    }
  }

  /** `value` with some of its parts left out, doubled, exchanged or replaced. */
  mutate(value: unknown, rate = 0.08): unknown {
    if (this.chance(rate)) return this.json();
    if (typeof value === "string" && this.chance(rate * 2)) return this.text();
    if (Array.isArray(value)) {
      const items = value.map((item) => this.mutate(item, rate));
      if (items.length > 0 && this.chance(rate)) items.push(this.pick(items));
      if (this.chance(rate)) items.splice(this.below(items.length + 1), 1);
      return items;
    }
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value)
      .filter(() => !this.chance(rate))
      .map(([key, item]) => [key, this.mutate(item, rate)] as const);
    return this.chance(rate)
      ? Object.fromEntries([...members, [this.text(), this.json()]])
      : Object.fromEntries(members);
  }
}

const PIECES = [
  "\n",
  "\r",
  "\r\n",
  "\0",
  "\t",
  "\u2028",
  "\ud800",
  "\udc00",
  "é",
  "世",
  "👩‍👩‍👧",
  "\u202e",
  "/",
  "\\",
  "..",
  "%2e",
  '"',
  "'",
  "<b>",
  "${X}",
  "data: ",
  ":",
  ";",
  "\u007f",
  "\u0085",
] as const;
const WORDS = [
  "",
  " ",
  ".",
  "..",
  "../../etc/passwd",
  "C:\\x",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "null",
  "undefined",
  "NaN",
  "[object Object]",
  "http://169.254.169.254/",
  "https://evil.example/rpc",
  "//evil.example",
  "javascript:alert(1)",
  "data:text/html,x",
  "file:///etc/passwd",
  "host://delegations/x",
  "JSONRPC",
  "jsonrpc",
  "HTTP+JSON",
  "GRPC",
  "1.0",
  "0.3",
  "0.3.0",
  "2",
  "-1",
  "1e9",
  "text/plain",
  "text/html;charset=utf-8",
  "application/json",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_WORKING",
  "TASK_STATE_INPUT_REQUIRED",
  "completed",
  "working",
  "input-required",
  "ROLE_AGENT",
  "ROLE_USER",
  "assistant-output",
  "a",
  "t",
  "c",
  "x".repeat(300),
  "é".repeat(250),
  "\ud83d".repeat(5),
  "id: 1\ndata: {}\n\n",
] as const;
const NUMBERS = [0, -0, 1, -1, 0.5, 1e21, -1e308, 9_007_199_254_740_991, 2 ** 53 + 2, 4_294_967_296] as const;

/** A target takes as long as its inputs; this is only for one that hangs. */
export const FUZZ_LIMIT_MS = 240_000;

/** What {@link fuzz} feeds in. */
export interface Target<Input> {
  /** Inputs in CI; a tenth of it elsewhere. */
  readonly inputs: number;
  readonly generate: (random: Random) => Input;
  /** Throws when the input is not coped with. */
  readonly check: (input: Input, random: Random) => unknown;
  /** Seeds that once found something. */
  readonly seeds?: readonly number[];
}

/**
 * Feeds generated inputs to a target. Each input has a seed of its own, which a failure tells: `TROUPE_FUZZ_SEED=<seed>` tries that
 * one alone, `TROUPE_FUZZ_INPUTS=<count>` changes how many there are.
 */
export async function fuzz<Input>(target: Target<Input>): Promise<number> {
  const { TROUPE_FUZZ_SEED: only, TROUPE_FUZZ_INPUTS: wanted, CI } = process.env;
  const count = Number(wanted ?? (CI === undefined ? target.inputs / 10 : target.inputs));
  const seeds = only === undefined ? [...(target.seeds ?? [])] : [Number(only)];
  for (const seed of seeds) await once(target, seed);
  if (only !== undefined) return seeds.length;
  const { stackTraceLimit } = Error;
  // Most inputs are refused by throwing; stacks that nobody reads would take most of the time.
  Error.stackTraceLimit = 0;
  try {
    for (let seed = 1; seed <= count; seed++) {
      const pending = once(target, seed);
      if (pending !== undefined) await pending;
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return seeds.length + count;
}

function once<Input>({ generate, check }: Target<Input>, seed: number): Promise<void> | undefined {
  const random = new Random(Math.imul(seed, 0x9e3779b1));
  const input = generate(random);
  const told = (error: unknown): never => {
    const shown = inspect(input, { depth: 8, maxStringLength: 500 }).slice(0, 3_000);
    throw new Error(`TROUPE_FUZZ_SEED=${seed} found: ${shown}`, { cause: error });
  };
  try {
    const checked = check(input, random);
    if (checked instanceof Promise) return checked.then(() => undefined, told);
  } catch (error) {
    told(error);
  }
  return undefined;
}

/** Fails with `what` unless `condition` holds; cheaper than a matcher, hundreds of thousands of times. */
export function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`It must ${what}.`);
}
