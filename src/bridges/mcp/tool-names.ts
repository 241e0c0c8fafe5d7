import { createHash } from "node:crypto";

/** What every client accepts as a tool's name. */
const MAX_NAME = 64;
const HASH = 8;

/**
 * Names that clients accept, one for each wanted name: letters, digits, `_` and `-`, at most 64. Names that become the same are
 * told apart by a hash of what they were, so that each has the same name on every start and whoever else is there.
 * @returns the names in the order of `wanted`, without repetition.
 */
export function toolNames(wanted: readonly string[]): string[] {
  const plain = wanted.map((name) => name.replace(/[^A-Za-z0-9_-]+/g, "_"));
  const count = new Map<string, number>();
  for (const name of plain) count.set(name, (count.get(name) ?? 0) + 1);
  return plain.map((name, index) => {
    const original = wanted[index] ?? name;
    const unambiguous = name.length <= MAX_NAME && name !== "" && count.get(name) === 1;
    return unambiguous ? name : `${name.slice(0, MAX_NAME - HASH - 1)}_${hash(original)}`;
  });
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH);
}
