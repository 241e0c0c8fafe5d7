import { ConfigError } from "./config-error.js";

type Variables = Readonly<Record<string, string | undefined>>;
/** The way to a place in a config: keys and indexes. */
export type Place = readonly PropertyKey[];

/** A variable that a config wants and the environment does not have. */
export interface MissingVariable {
  readonly name: string;
  readonly places: readonly Place[];
}

/** A config with its variables replaced. */
export interface Substituted {
  readonly value: unknown;
  /** In the order in which they come. */
  readonly missing: readonly MissingVariable[];
  /** Names of variables that the environment has. */
  readonly found: readonly string[];
}

/** A config is never nested deeper; a YAML alias or a module may make a circle. */
const MAX_DEPTH = 100;

/**
 * Replaces `${VAR}` and `${VAR:-default}` in every text of a config.
 * @param instead stands for what is missing.
 * @throws ConfigError for a value that contains itself.
 */
export function substitute(value: unknown, variables: Variables, instead = ""): Substituted {
  const missing = new Map<string, Place[]>();
  const given = new Set<string>();
  const replace = (whole: string, place: Place) =>
    whole.replace(
      /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
      (_whole, name: string, fallback: string | undefined) => {
        // `process.env` has the members of every object, too.
        const found = Object.hasOwn(variables, name) ? variables[name] : undefined;
        if (found !== undefined) given.add(name);
        const text = found ?? fallback;
        if (text !== undefined) return text;
        missing.set(name, [...(missing.get(name) ?? []), place]);
        return instead;
      },
    );
  const walk = (inner: unknown, place: Place): unknown => {
    if (place.length > MAX_DEPTH) throw new ConfigError("The config is nested too deep, or contains itself.");
    if (typeof inner === "string") return replace(inner, place);
    if (Array.isArray(inner)) return inner.map((member, index) => walk(member, [...place, index]));
    if (inner === null || typeof inner !== "object") return inner;
    return Object.fromEntries(
      Object.entries(inner).map(([key, member]) => [key, walk(member, [...place, key])]),
    );
  };
  const result = walk(value, []);
  return {
    value: result,
    missing: [...missing].map(([name, places]) => ({ name, places })),
    found: [...given],
  };
}

/**
 * As {@link substitute}.
 * @throws ConfigError naming each variable that is missing: a typo must not become a call without credentials.
 */
export function substituteVariables(value: unknown, variables: Variables): unknown {
  const { value: result, missing } = substitute(value, variables);
  if (missing.length > 0) throw missingVariables(missing);
  return result;
}

/** The error for variables that are not there, with the places that want them. */
export function missingVariables(missing: readonly MissingVariable[]): ConfigError {
  const names = missing.map(({ name }) => `\${${name}}`).join(", ");
  const places = [...new Set(missing.flatMap((one) => one.places.map(placeText)))].filter(Boolean);
  const where = places.length === 0 ? "" : `\nIt is wanted at ${places.slice(0, 10).join(", ")}.`;
  return new ConfigError(
    `The config needs ${names}, which the environment does not have. Set it, or write \${NAME:-default}.${where}`,
  );
}

/** A place as it is shown, such as `subAgents.agents.0.auth.token`. */
export function placeText(place: Place): string {
  return place.map(String).join(".");
}
