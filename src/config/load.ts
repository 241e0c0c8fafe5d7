import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Clock, systemClock } from "../core/clock.js";
import { ConfigError } from "./config-error.js";
import { type ConfigProblem, problemsOf, problemText } from "./problems.js";
import { readConfig } from "./read.js";
import { type Config, configSchema } from "./schema.js";
import { missingVariables, type Place, type Substituted, substitute } from "./substitute.js";

/** Looked for in this order. */
export const CONFIG_NAMES: readonly string[] = ["json", "jsonc", "yaml", "yml", "js", "mjs"].map(
  (ending) => `troupe.config.${ending}`,
);

type Variables = Readonly<Record<string, string | undefined>>;

/** A config and where it came from. */
export interface LoadedConfig {
  readonly config: Config;
  readonly file: string;
  /** Relative paths of the config start here. */
  readonly folder: string;
}

/** What {@link examineConfig} found. */
export interface ExaminedConfig {
  readonly file: string;
  readonly missing: Substituted["missing"];
  /** Names of variables that it wants and that are there. */
  readonly variables: readonly string[];
  readonly problems: readonly ConfigProblem[];
  /** Absent when there are problems. Where a variable is missing stands something else. */
  readonly loaded?: LoadedConfig;
}

/** Stands where a variable is missing: most of what is checked takes a URL. */
const INSTEAD = "http://missing.invalid";

/** @returns the config file of a folder, if it has one. */
export function findConfig(folder: string): string | undefined {
  return CONFIG_NAMES.map((name) => join(folder, name)).find(existsSync);
}

/**
 * Reads and checks a config.
 * @throws ConfigError that names file, place, and what is allowed there.
 */
export async function loadConfig(path: string, variables: Variables): Promise<LoadedConfig> {
  const { file, missing, problems, loaded } = await examineConfig(path, variables);
  if (missing.length > 0) throw missingVariables(missing);
  if (loaded !== undefined) return loaded;
  throw new ConfigError(
    [`${file} is not a valid config:`, ...problems.map((problem) => `  ${problemText(problem)}`)].join("\n"),
  );
}

/**
 * As {@link loadConfig}, but tells everything that is wrong with it.
 * @throws ConfigError when the file cannot be read at all.
 */
export async function examineConfig(
  path: string,
  variables: Variables,
  clock: Clock = systemClock,
): Promise<ExaminedConfig> {
  const file = resolve(path);
  const raw = await readConfig(file, clock);
  const { value, missing, found: names } = substitute(raw, variables, INSTEAD);
  const parsed = configSchema.safeParse(value);
  if (parsed.success) {
    const loaded = { config: parsed.data, file, folder: dirname(file) };
    return { file, missing, variables: names, problems: [], loaded };
  }
  const unknown = missing.flatMap(({ places }) => places);
  const problems = problemsOf(parsed.error, raw, configSchema).filter(
    ({ place }) => !unknown.some((other) => isSame(place, other)),
  );
  return { file, missing, variables: names, problems };
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

function isSame(a: Place, b: Place): boolean {
  return a.length === b.length && a.every((step, index) => step === b[index]);
}
