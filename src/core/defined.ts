/** The members of an object that are there: `undefined` becomes absent, as optional members want it. */
export type Defined<Members extends object> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/** `members` without those that are `undefined`. */
export function defined<Members extends object>(members: Members): Defined<Members> {
  const present: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) present[name] = value;
  return present as Defined<Members>;
}
