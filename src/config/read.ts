import { access, constants, readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { type ParseError, parse as parseJsonc, printParseErrorCode } from "jsonc-parser";
import { parseDocument } from "yaml";
import { type Clock, withinTime } from "../core/clock.js";
import { errorText } from "../core/errors.js";
import { ConfigError } from "./config-error.js";

/** How long a module may take until it has its config, in milliseconds. */
const MODULE_MS = 10_000;

/**
 * Reads a config as it is written, before variables are replaced. JavaScript modules are run.
 * @param file an absolute path; its ending says what it is.
 * @throws ConfigError
 */
export async function readConfig(file: string, clock: Clock): Promise<unknown> {
  const ending = extname(file);
  if (ending === ".js" || ending === ".mjs") return readModule(file, clock);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw unreadable(file, error);
  }
  return ending === ".yaml" || ending === ".yml" ? readYaml(file, text) : readJson(file, text);
}

function readJson(file: string, text: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parseJsonc(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return value;
  const line = text.slice(0, first.offset).split("\n").length;
  throw new ConfigError(`${file}:${line}: not valid JSON (${printParseErrorCode(first.error)}).`);
}

function readYaml(file: string, text: string): unknown {
  const document = parseDocument(text, { prettyErrors: false });
  const [first] = document.errors;
  if (first !== undefined) {
    const line = text.slice(0, first.pos[0]).split("\n").length;
    // The parser's own words quote the file, which may hold a secret.
    throw new ConfigError(`${file}:${line}: not valid YAML (${first.code}).`);
  }
  try {
    return document.toJS({ maxAliasCount: 100 }) as unknown;
  } catch (error) {
    throw new ConfigError(`${file}: not usable YAML: ${errorText(error)}`, error);
  }
}

async function readModule(file: string, clock: Clock): Promise<unknown> {
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  // While a module waits for something that keeps nothing alive, the process would end without a word.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  let module: { readonly module: Readonly<Record<string, unknown>> } | undefined;
  try {
    // A module that was changed is another one.
    const { mtimeMs } = await stat(file);
    const loading = import(`${pathToFileURL(file).href}?changed=${mtimeMs}`).then(
      (loaded: Readonly<Record<string, unknown>>) => ({ module: loaded }),
    );
    module = await withinTime(clock, MODULE_MS, loading);
  } catch (error) {
    throw new ConfigError(`${file} could not be run: ${errorText(error)}`, error);
  } finally {
    clearInterval(keepAlive);
  }
  if (module === undefined)
    throw new ConfigError(`${file} had no config after ${MODULE_MS / 1_000} s. What does it wait for?`);
  const { default: standard, config = standard } = module.module;
  if (typeof config === "object" && config !== null) return config;
  throw new ConfigError(
    `${file} exports no config. Write "export default { agents: … }" or "export const config = …".`,
  );
}

function unreadable(file: string, cause: unknown): ConfigError {
  return new ConfigError(`${file} cannot be read. Name another file with --config.`, cause);
}
