import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { ConfigError } from "./config-error.js";
import { type Config, configSchema } from "./schema.js";
import { substituteVariables } from "./substitute.js";

/** Looked for in this order. */
const NAMES = ["troupe.config.json", "troupe.config.jsonc"];

/** A config and where it came from. */
export interface LoadedConfig {
  readonly config: Config;
  readonly file: string;
  /** Relative paths of the config start here. */
  readonly folder: string;
}

/** @returns the config file of a folder, if it has one. */
export function findConfig(folder: string): string | undefined {
  return NAMES.map((name) => join(folder, name)).find(existsSync);
}

/**
 * Reads and checks a config.
 * @throws ConfigError that names file, place, and what is allowed there.
 */
export function loadConfig(
  path: string,
  variables: Readonly<Record<string, string | undefined>>,
): LoadedConfig {
  const file = resolve(path);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`${file} cannot be read. Name another file with --config.`, error);
  }
  const errors: ParseError[] = [];
  const raw: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    throw new ConfigError(`${file}:${line}: not valid JSON (${printParseErrorCode(first.error)}).`);
  }
  const parsed = configSchema.safeParse(substituteVariables(raw, variables));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path: place, message }) => `  ${place.join(".") || "(top)"}: ${message}`,
    );
    throw new ConfigError(`${file} is not a valid config:\n${problems.join("\n")}`);
  }
  return { config: parsed.data, file, folder: dirname(file) };
}

/**
 * For commands that run local agents.
 * @throws ConfigError when there is none.
 */
export function requireAgents({ config, file }: LoadedConfig): void {
  if (Object.keys(config.agents).length > 0) return;
  throw new ConfigError(
    `${file}: agents: there is none to run. Add one, such as "agents": { "claude": { "driver": "claude" } }.`,
  );
}
