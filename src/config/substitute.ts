import { ConfigError } from "./config-error.js";

/**
 * Replaces `${VAR}` and `${VAR:-default}` in every text of a config.
 * @throws ConfigError naming each variable that is missing: a typo must not become a call without credentials.
 */
export function substituteVariables(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
): unknown {
  const missing = new Set<string>();
  const replace = (text: string) =>
    text.replace(
      /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
      (_whole, name: string, fallback: string | undefined) => {
        // `process.env` has the members of every object, too.
        const found = (Object.hasOwn(variables, name) ? variables[name] : undefined) ?? fallback;
        if (found === undefined) missing.add(name);
        return found ?? "";
      },
    );
  const walk = (inner: unknown): unknown => {
    if (typeof inner === "string") return replace(inner);
    if (Array.isArray(inner)) return inner.map(walk);
    if (inner === null || typeof inner !== "object") return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, member]) => [key, walk(member)]));
  };
  const result = walk(value);
  if (missing.size === 0) return result;
  const names = [...missing].map((name) => `\${${name}}`).join(", ");
  throw new ConfigError(
    `The config needs ${names}, which the environment does not have. Set it, or write \${NAME:-default}.`,
  );
}
