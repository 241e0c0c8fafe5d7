import { unwatchFile, watchFile } from "node:fs";
import type { LoadedConfig } from "../config/load.js";
import { errorText } from "../core/errors.js";
import type { RemoteState } from "../delegation/directory.js";
import type { Host } from "../host/host.js";
import type { ConfigParts } from "./config-parts.js";

/** How often the file is looked at, in milliseconds. Watching it by events would lose it when an editor puts another in its place. */
const LOOK_MS = 500;

/** What {@link reloadOnChange} works with. */
export interface Reloading {
  readonly host: Pick<Host, "update" | "probe">;
  readonly parts: ConfigParts;
  /** What the host was started with. */
  readonly loaded: LoadedConfig;
  /** Reads the config again. */
  readonly load: () => Promise<LoadedConfig>;
  /** Gets a line for a person. */
  readonly say: (line: string) => void;
}

/**
 * Gives a host the agents and sub-agents of its config whenever the file changes. A config that cannot be used is told, and changes
 * nothing; so is a change that only a restart can make.
 * @returns what ends it.
 */
export function reloadOnChange(reloading: Reloading): () => void {
  const { file } = reloading.loaded;
  const reload = configReload(reloading);
  const changed = () => void reload();
  watchFile(file, { interval: LOOK_MS, persistent: false }, changed);
  return () => unwatchFile(file, changed);
}

/** One reload after the other; those that are asked for while one goes on become one. Never rejects. */
export function configReload({ host, parts, loaded, load, say }: Reloading): () => Promise<void> {
  const started = loaded.config;
  let current = loaded;
  let going: Promise<void> | undefined;
  let again = false;
  const once = async (): Promise<void> => {
    const next = await load();
    if (isSame(next.config, current.config)) return;
    host.update(parts.of(next));
    current = next;
    say(`The config has changed: ${contents(next)}.`);
    const fixed = fixedPlaces.filter((place) => !isSame(place.of(started), place.of(next.config)));
    if (fixed.length > 0)
      say(`Start it again for what has changed in ${fixed.map(({ name }) => name).join(", ")}.`);
    for (const line of unreachable(await host.probe())) say(line);
  };
  const all = async (): Promise<void> => {
    do {
      again = false;
      await once().catch((error: unknown) =>
        say(`The config is not used, the one before it is: ${errorText(error)}`),
      );
    } while (again);
    going = undefined;
  };
  return () => {
    again = true;
    going ??= all();
    return going;
  };
}

type Config = LoadedConfig["config"];

/** What a host cannot change while it runs. */
const fixedPlaces: readonly { readonly name: string; of(config: Config): unknown }[] = [
  { name: "serve", of: ({ serve }) => serve },
  { name: "journal", of: ({ journal }) => journal },
  { name: "telemetry", of: ({ telemetry }) => telemetry },
  { name: "a2a", of: ({ a2a }) => a2a },
  {
    name: "agents.*.a2a",
    of: ({ agents }) =>
      Object.entries(agents).flatMap(([key, { a2a }]) => (a2a === undefined ? [] : [[key, a2a]])),
  },
  {
    name: "subAgents.options",
    of: ({ subAgents }) => ({ ...subAgents?.options, policy: undefined, responseMode: undefined }),
  },
];

function contents({ config: { agents, subAgents } }: LoadedConfig): string {
  const remotes = (subAgents?.agents ?? []).map(({ name }) => name);
  return `agents ${listed(Object.keys(agents))}; sub-agents ${listed(remotes)}`;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}

function unreachable(states: readonly RemoteState[]): string[] {
  return states
    .filter(({ status }) => status === "unreachable")
    .map(({ key, problem = "" }) => `Remote agent "${key}" cannot be reached. ${problem}`);
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
