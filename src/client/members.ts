/** A record of unknown members; anything that is not an object counts as an empty one. */
export type Members = Readonly<Record<string, unknown>>;

export function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

/** The member as text; numbers and everything else count as missing. */
export function textOf(members: Members, name: string): string | undefined {
  const value = members[name];
  return typeof value === "string" ? value : undefined;
}

/** The member as text that is not empty: what names of things must be. */
export function nameOf(members: Members, name: string): string | undefined {
  return textOf(members, name) || undefined;
}

/** The member as a finite number. */
export function numberOf(members: Members, name: string): number | undefined {
  const value = members[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The member as a list. */
export function listOf(members: Members, name: string): readonly unknown[] {
  const value = members[name];
  return Array.isArray(value) ? value : [];
}
