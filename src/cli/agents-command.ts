import pc from "picocolors";
import { findConfig, type LoadedConfig, loadConfig } from "../config/load.js";
import { defined } from "../core/defined.js";
import type { RemoteState } from "../delegation/directory.js";
import { createConfiguredHost } from "./config-host.js";
import { EXIT } from "./exit-code.js";
import { knownPrograms } from "./known-programs.js";
import { type FoundProgram, lookForAgents, lookForProgram } from "./program-look.js";
import { createProgress } from "./progress.js";
import { flat, oneLine } from "./tree/render.js";

/** Options of `troupe agents`. */
export interface AgentsOptions {
  readonly config?: string;
  readonly json?: boolean;
}

type Capabilities = FoundProgram["capabilities"];

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
  const loaded = file === undefined ? undefined : await loadConfig(file, process.env);
  const progress = createProgress();
  const [programs, agents, subAgents] = await Promise.all([
    Promise.all(
      knownPrograms().map((program) =>
        progress.during(program.command, lookForProgram(program, { name: program.command })),
      ),
    ),
    loaded === undefined ? [] : progress.during("agents", lookForAgents(loaded)),
    loaded === undefined ? [] : progress.during("sub-agents", configuredRemotes(loaded)),
  ]).finally(() => progress.close());
  if (json)
    console.log(JSON.stringify({ ...defined({ config: loaded?.file }), programs, agents, subAgents }));
  else for (const line of tables(loaded?.file, programs, agents, subAgents)) console.log(line);
  const broken = [...agents, ...subAgents].some(({ problem }) => problem !== undefined);
  return broken ? EXIT.failed : EXIT.done;
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
      ...defined({ title: description === undefined ? undefined : flat(description.name) }),
      ...(status === "ready"
        ? {}
        : {
            problem: flat(problem ?? "it did not answer"),
            remedy: "start it, or correct its address and `auth` in the config",
          }),
    }));
  } finally {
    await host.close();
  }
}

function tables(
  config: string | undefined,
  programs: readonly FoundProgram[],
  agents: readonly FoundProgram[],
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

function programRows({ name, version, capabilities, problem, remedy }: FoundProgram, where = ""): string[] {
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
