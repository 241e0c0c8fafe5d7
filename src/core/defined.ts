/** The members of an object that are there: `undefined` becomes absent, as optional members want it. */
export type Defined<Members extends object> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/** `members` without those that are `undefined`. */
export function defined<Members extends object>(members: Members): Defined<Members> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Defined<Members>;
}
