import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { LoadedConfig } from "../config/load.js";
import { needsApprovals } from "../core/approval.js";
import { systemClock } from "../core/clock.js";
import { defined } from "../core/defined.js";
import type { DriverDescription } from "../core/driver.js";
import { programEnvironment } from "../core/environment.js";
import { isOlder } from "../drivers/codex/protocol.js";
import { configuredDriver, permissionsOf } from "./config-agents.js";
import { type KnownProgram, knownPrograms } from "./known-programs.js";
import { askVersion, findProgram } from "./program-version.js";

type Capabilities = DriverDescription["capabilities"];

/** What is known of a program, or of an agent that is to run one. */
export interface FoundProgram {
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

/** Looks for a program, and asks it for its version. */
export async function lookForProgram(
  { command, otherwise, driver, install, update, oldest }: KnownProgram,
  {
    name,
    executable = command,
    folder = process.cwd(),
  }: { name: string; executable?: string; folder?: string },
): Promise<FoundProgram> {
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

/** Looks for the programs of a config's agents. */
export function lookForAgents({ config, folder }: LoadedConfig): Promise<FoundProgram[]> {
  const programs = knownPrograms();
  return Promise.all(
    Object.entries(config.agents).map(async ([name, agent]): Promise<FoundProgram> => {
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
      const found = await lookForProgram(program, { name, folder: workspace, ...defined({ executable }) });
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
