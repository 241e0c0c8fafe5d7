import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { ConfigError } from "../config/config-error.js";
import { CONFIG_NAMES, findConfig } from "../config/load.js";
import { key, subAgentSchema } from "../config/sub-agent-schema.js";
import { systemClock, withinTime } from "../core/clock.js";
import { errorText } from "../core/errors.js";
import { startOf } from "../core/text.js";
import { a2a } from "../remotes/a2a/a2a.js";
import { checkRemote } from "./check/check-remote.js";
import { EXIT } from "./exit-code.js";
import { type KnownProgram, knownPrograms } from "./known-programs.js";
import { type FoundProgram, lookForProgram } from "./program-look.js";
import { createProgress } from "./progress.js";
import { createQuestions, type Questions, QuestionsClosed } from "./questions.js";
import { schemaReference } from "./schema-reference.js";
import { clean, oneLine } from "./tree/render.js";

/** Options of `troupe init`. */
export interface InitOptions {
  /** The file to write. */
  readonly config?: string;
  readonly force?: boolean;
  /** Asks nothing. */
  readonly yes?: boolean;
  readonly json?: boolean;
  /** The local agent's driver. */
  readonly agent?: string;
  readonly card?: string;
  readonly name?: string;
  readonly tokenVariable?: string;
}

interface Candidate extends FoundProgram {
  readonly program: KnownProgram;
}

interface Remote {
  readonly name: string;
  readonly agentCardUrl: string;
  readonly auth?: { readonly mode: "bearer"; readonly token: string };
}

const ASK_MS = 5_000;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `troupe init`: asks a few questions and writes a config. */
export async function initCommand(options: InitOptions): Promise<number> {
  const { yes = false, force = false, json } = options;
  const file = resolve(options.config ?? CONFIG_NAMES[0] ?? "");
  if (!/\.jsonc?$/.test(file))
    throw new ConfigError(`${file}: the config that is written is JSON. Name a .json file.`);
  const there = existsSync(file)
    ? file
    : options.config === undefined
      ? findConfig(process.cwd())
      : undefined;
  if (there !== undefined && !force)
    throw new ConfigError(`${there} is there already. --force writes ${basename(file)} all the same.`);
  if (!yes && !(process.stdin.isTTY && process.stderr.isTTY))
    throw new ConfigError(
      "Nobody can answer questions here. --yes takes the defaults; see troupe init --help.",
    );
  const candidates = await lookForCandidates();
  const questions = yes ? undefined : createQuestions();
  try {
    const agent = await chooseAgent(candidates, options, questions);
    const remote = await chooseRemote(options, questions);
    const $schema = schemaReference(dirname(file));
    const config = {
      ...($schema === undefined ? {} : { $schema }),
      agents: { [agent]: { driver: agent, workspace: "." } },
      subAgents: { agents: remote === undefined ? [] : [remote] },
    };
    await writeConfig(file, `${JSON.stringify(config, undefined, 2)}\n`, force);
    if (json) console.log(JSON.stringify({ file, config }));
    else for (const line of nextSteps(file, candidates, agent, remote)) console.log(line);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof QuestionsClosed)) throw error;
    console.error("\nNothing was written.");
    return EXIT.cancelled;
  } finally {
    questions?.close();
  }
}

async function lookForCandidates(): Promise<Candidate[]> {
  const progress = createProgress();
  const looking = knownPrograms().map(async (program): Promise<Candidate> => {
    const found = lookForProgram(program, { name: program.driver.describe().name });
    return { ...(await progress.during(program.command, found)), program };
  });
  return Promise.all(looking).finally(() => progress.close());
}

async function chooseAgent(
  candidates: readonly Candidate[],
  { agent: wanted }: InitOptions,
  questions: Questions | undefined,
): Promise<string> {
  const names = candidates.map(({ driver }) => driver);
  if (wanted !== undefined) return wanted;
  const installed = candidates.filter(({ problem }) => problem === undefined);
  const usual = installed[0]?.driver ?? "claude";
  if (questions === undefined) return usual;
  questions.say("Which agent on this machine shall call others?");
  for (const [index, { driver, version, problem }] of candidates.entries())
    questions.say(
      `  ${index + 1}  ${driver.padEnd(10)} ${version ?? ""}${problem === undefined ? "" : `  ${oneLine(problem, 70)}`}`,
    );
  return questions.ask(`Local agent [${usual}]: `, (answer) => {
    const chosen = answer === "" ? usual : (names[Number(answer) - 1] ?? answer);
    return names.includes(chosen)
      ? { value: chosen }
      : { problem: `One of ${names.join(", ")}, or its number.` };
  });
}

async function chooseRemote(
  options: InitOptions,
  questions: Questions | undefined,
): Promise<Remote | undefined> {
  const { card, name, tokenVariable } = options;
  if (questions === undefined || card !== undefined) {
    if (card === undefined) {
      if (name === undefined && tokenVariable === undefined) return undefined;
      throw new ConfigError("--name and --token-variable are about the agent that --card names.");
    }
    const proposed = await proposedName(card);
    const remote = remoteOf(name ?? proposed.name, card, tokenVariable);
    const checked = subAgentSchema.safeParse(remote);
    if (!checked.success) {
      const [issue] = checked.error.issues;
      throw new ConfigError(`The remote agent's ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
    }
    if (tokenVariable !== undefined && !VARIABLE.test(tokenVariable))
      throw new ConfigError("--token-variable takes the name of a variable, not the token itself.");
    await tryRemote(remote, (line) => console.error(line));
    return remote;
  }
  for (;;) {
    const url = await questions.ask("A2A agent to call: the URL of its card (empty for none): ", (answer) =>
      answer === "" || isHttpUrl(answer)
        ? { value: answer }
        : { problem: "A URL begins with http:// or https://." },
    );
    if (url === "") return undefined;
    const proposed = await proposedName(url);
    questions.say(proposed.told);
    const chosen = await questions.ask(`What your agent shall call it [${proposed.name}]: `, (answer) => {
      const value = answer === "" ? proposed.name : answer;
      const checked = key.safeParse(value);
      return checked.success ? { value } : { problem: `A name ${checked.error.issues[0]?.message ?? ""}.` };
    });
    const variable = await questions.ask("Variable that holds its token (empty for none): ", (answer) =>
      answer === "" || VARIABLE.test(answer)
        ? { value: answer }
        : {
            problem:
              "The name of an environment variable, not the token itself: that does not belong into a file.",
          },
    );
    const remote = remoteOf(chosen, url, variable === "" ? undefined : variable);
    if (await tryRemote(remote, (line) => questions.say(line))) return remote;
    const anyway = await questions.ask("Write it all the same? [y/N]: ", (answer) => ({
      value: /^y(es)?$/i.test(answer),
    }));
    if (anyway) return remote;
  }
}

function remoteOf(name: string, agentCardUrl: string, variable: string | undefined): Remote {
  if (variable === undefined) return { name, agentCardUrl };
  return { name, agentCardUrl, auth: { mode: "bearer", token: `\${${variable}}` } };
}

/** A name out of the card, and what there is to say about it. */
async function proposedName(agentCardUrl: string): Promise<{ readonly name: string; readonly told: string }> {
  const fallback = { name: "remote", told: "  Its card cannot be read without a credential, or not at all." };
  if (!isHttpUrl(agentCardUrl)) return fallback;
  const progress = createProgress();
  const abort = new AbortController();
  try {
    const remote = a2a({ name: "remote", agentCardUrl });
    const asking = remote.describe(abort.signal).finally(() => remote.close());
    const card = await progress.during("its card", withinTime(systemClock, ASK_MS, asking));
    if (card === undefined) return fallback;
    const slug = card.name
      .normalize("NFKD")
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .replaceAll(/^-+|-+$/g, "");
    const told = `  It is ${oneLine(card.name, 60)}: ${oneLine(card.description, 80)}`;
    return { name: startOf(slug, 40) || "remote", told };
  } catch {
    return fallback;
  } finally {
    abort.abort();
    progress.close();
  }
}

/** Asks it as `troupe check` does. @returns whether it works, as far as one can tell. */
async function tryRemote(remote: Remote, say: (line: string) => void): Promise<boolean> {
  const name = /\$\{(.*)\}/.exec(remote.auth?.token ?? "")?.[1];
  const token = name === undefined ? undefined : process.env[name];
  if (name !== undefined && (token === undefined || token === "")) {
    say(`  ${name} is not set here, so it was not asked. Set it before troupe serve.`);
    return true;
  }
  const progress = createProgress();
  const entry = subAgentSchema.parse(
    token === undefined ? remote : { ...remote, auth: { mode: "bearer", token } },
  );
  try {
    const { state, text, remedy } = await progress.during(
      remote.name,
      checkRemote(entry, { timeoutMs: ASK_MS, clock: systemClock }),
    );
    say(`  ${clean(text)}`);
    if (state === "problem" && remedy !== undefined) say(`  → ${remedy}`);
    return state !== "problem";
  } finally {
    progress.close();
  }
}

function isHttpUrl(text: string): boolean {
  return subAgentSchema.safeParse({ name: "x", agentCardUrl: text }).success;
}

async function writeConfig(file: string, text: string, force: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: force ? "w" : "wx" });
  } catch (error) {
    throw new ConfigError(`${file} cannot be written: ${errorText(error)}`, error);
  }
}

function nextSteps(
  file: string,
  candidates: readonly Candidate[],
  agent: string,
  remote: Remote | undefined,
): string[] {
  const { problem, remedy } = candidates.find(({ driver }) => driver === agent) ?? {};
  const named = CONFIG_NAMES.includes(basename(file)) && dirname(file) === process.cwd();
  const option = named ? "" : ` --config ${file}`;
  return [
    `Wrote ${file}`,
    ...(problem === undefined ? [] : [`  ${agent}: ${problem}`, `  → ${remedy ?? ""}`]),
    ...(remote === undefined ? ["  It names no agent to call yet: add one to subAgents.agents."] : []),
    "",
    `  troupe check${option}   looks whether everything works`,
    `  troupe serve${option}   starts it`,
  ];
}
