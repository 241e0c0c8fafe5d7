import { statSync } from "node:fs";
import { resolve } from "node:path";
import pc from "picocolors";
import { findConfig, type LoadedConfig, loadConfig } from "../config/load.js";
import { needsApprovals } from "../core/approval.js";
import { systemClock } from "../core/clock.js";
import { defined } from "../core/defined.js";
import type { DriverDescription } from "../core/driver.js";
import { programEnvironment } from "../core/environment.js";
import type { RemoteState } from "../delegation/directory.js";
import { isOlder } from "../drivers/codex/protocol.js";
import { configuredDriver, createConfiguredHost, permissionsOf } from "./config-host.js";
import { EXIT } from "./exit-code.js";
import { type KnownProgram, knownPrograms } from "./known-programs.js";
import { askVersion, findProgram } from "./program-version.js";
import { clean, oneLine } from "./tree/render.js";

/** Options of `troupe agents`. */
export interface AgentsOptions {
  readonly config?: string;
  readonly json?: boolean;
}

type Capabilities = DriverDescription["capabilities"];

/** What is known of a program, or of an agent that is to run one. */
interface Found {
  readonly name: string;
  readonly driver: string;
  /** Where the program is; absent when it is not installed. */
  readonly path?: string;
  readonly version?: string;
  readonly capabilities: Capabilities;
  /** What keeps it from working. */
  readonly problem?: string;
  /** What to do about it. */
  readonly remedy?: string;
}

interface FoundRemote {
  readonly name: string;
  readonly protocol: string;
  readonly status: RemoteState["status"];
  readonly title?: string;
  readonly problem?: string;
  readonly remedy?: string;
}

/**
 * `troupe agents`: which programs are installed, and how the agents and sub-agents of a config are.
 * @returns 1 when something that the config names does not work.
 */
export async function agentsCommand({ config: named, json }: AgentsOptions): Promise<number> {
  const file = named ?? findConfig(process.cwd());
  const loaded = file === undefined ? undefined : loadConfig(file, process.env);
  const [programs, agents, subAgents] = await Promise.all([
    Promise.all(knownPrograms().map((program) => look(program, { name: program.command }))),
    loaded === undefined ? [] : configuredAgents(loaded),
    loaded === undefined ? [] : configuredRemotes(loaded),
  ]);
  if (json)
    console.log(JSON.stringify({ ...defined({ config: loaded?.file }), programs, agents, subAgents }));
  else for (const line of tables(loaded?.file, programs, agents, subAgents)) console.log(line);
  const broken = [...agents, ...subAgents].some(({ problem }) => problem !== undefined);
  return broken ? EXIT.failed : EXIT.done;
}

/** Looks for a program, and asks it for its version. */
async function look(
  { command, otherwise, driver, install, update, oldest }: KnownProgram,
  {
    name,
    executable = command,
    folder = process.cwd(),
  }: { name: string; executable?: string; folder?: string },
): Promise<Found> {
  const { name: driverName, environment = [], capabilities } = driver.describe();
  const known = { name, driver: driverName, capabilities };
  const env = programEnvironment(process.env, environment, {});
  const names = executable === command && otherwise !== undefined ? [command, otherwise] : [executable];
  const path = names
    .map((file) => findProgram(file, env.PATH ?? "", folder))
    .find((found) => found !== undefined);
  if (path === undefined) {
    const problem = `there is no program ${executable}${executable === command ? " on the PATH" : ""}`;
    return { ...known, problem, remedy: install };
  }
  const told = await askVersion([path], { env, cwd: folder, clock: systemClock });
  if ("problem" in told) {
    return { ...known, path, ...told, remedy: `run ${path} --version yourself and see; ${update}` };
  }
  const { version } = told;
  if (oldest === undefined || !isOlder(version.replace(/[-+].*$/, ""), oldest))
    return { ...known, path, version };
  return { ...known, path, version, problem: `it is older than ${oldest}`, remedy: update };
}

function configuredAgents({ config, folder }: LoadedConfig): Promise<Found[]> {
  const programs = knownPrograms();
  return Promise.all(
    Object.entries(config.agents).map(async ([name, agent]): Promise<Found> => {
      const driver = configuredDriver(agent);
      const { name: driverName, capabilities } = driver.describe();
      const known = programs.find((program) => program.driver.describe().name === driverName);
      const program = { command: driverName, install: "install it", update: "update it", ...known, driver };
      const workspace = resolve(folder, agent.workspace ?? ".");
      if (statSync(workspace, { throwIfNoEntry: false })?.isDirectory() !== true) {
        const problem = `its workspace ${workspace} is no folder`;
        return {
          name,
          driver: driverName,
          capabilities,
          problem,
          remedy: "create it, or correct `workspace`",
        };
      }
      const { executable = agent.command, permissions } = agent;
      const found = await look(program, { name, folder: workspace, ...defined({ executable }) });
      if (found.problem !== undefined || capabilities.approvals || permissions === undefined) return found;
      if (!needsApprovals(permissionsOf(permissions))) return found;
      return {
        ...found,
        problem: "its program never asks",
        remedy: 'set `permissions` to "allow", or leave it out',
      };
    }),
  );
}

/** Asks the sub-agents of a config what they are, as a host does when it starts. */
async function configuredRemotes(loaded: LoadedConfig): Promise<FoundRemote[]> {
  if ((loaded.config.subAgents?.agents ?? []).length === 0) return [];
  const host = await createConfiguredHost(loaded);
  try {
    const states = await host.probe();
    return states.map(({ key, protocol, status, description, problem }) => ({
      name: key,
      protocol,
      status,
      ...defined({ title: description === undefined ? undefined : clean(description.name) }),
      ...(status === "ready"
        ? {}
        : {
            problem: clean(problem ?? "it did not answer"),
            remedy: "start it, or correct its address and `auth` in the config",
          }),
    }));
  } finally {
    await host.close();
  }
}

function tables(
  config: string | undefined,
  programs: readonly Found[],
  agents: readonly Found[],
  subAgents: readonly FoundRemote[],
): string[] {
  const none = pc.dim("none");
  const remotes = subAgents.map(({ name, protocol, status, title, problem, remedy }) =>
    row(
      name,
      protocol,
      problem === undefined ? `${status}${title === undefined ? "" : `  ${title}`}` : "",
      problem,
      remedy,
    ),
  );
  return [
    pc.bold("Programs"),
    ...programs.flatMap((found) => programRows(found, found.path)),
    ...(config === undefined
      ? [pc.dim("\nThere is no troupe.config.json here; name one with --config to see its agents.")]
      : [
          pc.bold(`\nAgents of ${config}`),
          ...(agents.length === 0
            ? [`  ${none}`]
            : agents.flatMap((found) => programRows(found, `driver ${found.driver}`))),
          pc.bold("\nSub-agents"),
          ...(remotes.length === 0 ? [`  ${none}`] : remotes.flat()),
        ]),
  ];
}

function programRows({ name, version, capabilities, problem, remedy }: Found, where = ""): string[] {
  const [first = "", ...rest] = row(name, version ?? "-", where, problem, remedy);
  return [
    first,
    ...(version === undefined ? [] : [pc.dim(`${" ".repeat(17)}${words(capabilities)}`)]),
    ...rest,
  ];
}

function row(name: string, second: string, third: string, problem?: string, remedy?: string): string[] {
  const line = `  ${name.padEnd(14)} ${second.padEnd(14)} ${third}`.trimEnd();
  if (problem === undefined) return [line];
  return [
    line,
    `${" ".repeat(17)}${pc.yellow(oneLine(problem, 200))}`,
    ...(remedy === undefined ? [] : [`${" ".repeat(17)}→ ${remedy}`]),
  ];
}

function words({ resume, fork, approvals, mcpHttp, mcpStdio }: Capabilities): string {
  const able = { resume, fork, approvals, "MCP over HTTP": mcpHttp, "MCP over stdio": mcpStdio };
  return Object.entries(able)
    .flatMap(([word, can]) => (can ? [word] : []))
    .join(", ");
}
