import { ConfigError } from "../config/config-error.js";
import { findConfig, type LoadedConfig, loadConfig, requireAgents } from "../config/load.js";
import { sleep, systemClock } from "../core/clock.js";
import { defined } from "../core/defined.js";
import type { Host } from "../host/host.js";
import { workspaceOf } from "./bridge/bridge-file.js";
import { createConfiguredHost } from "./config-host.js";
import { ConfigParts } from "./config-parts.js";
import { reloadOnChange } from "./config-reload.js";
import { configuredTelemetry } from "./config-telemetry.js";
import { EXIT } from "./exit-code.js";
import { createProgress } from "./progress.js";
import { announce, serveUntilStopped, warnOfUnreachable } from "./serving.js";
import { openServingStorage } from "./storage.js";
import { workspaceServing } from "./workspace-serving.js";

/** Options of `troupe serve`. */
export interface ServeOptions {
  readonly config?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly json?: boolean;
  /** Seconds for which what a client of `troupe mcp` has begun goes on without it. */
  readonly grace?: number;
  /** Seconds without a run or a client after which it ends. */
  readonly idleEnd?: number;
  /** It was started by `troupe mcp`, for external parents alone. */
  readonly background?: boolean;
}

/** `troupe serve`: serves the agents of a config until it is stopped. */
export async function serveCommand(options: ServeOptions): Promise<number> {
  const { config: named, json, background = false } = options;
  const file = named ?? findConfig(process.cwd());
  if (file === undefined) {
    throw new ConfigError(
      "There is no troupe.config.json here. `troupe init` writes one; or try `troupe demo`.",
    );
  }
  const load = async () => {
    const config = await loadConfig(file, process.env);
    // The bridge's own file lies in a folder of its workspace.
    const found = { ...config, folder: workspaceOf(config.file) };
    if (!background) requireAgents(found);
    return found;
  };
  const loaded = await load();
  const workspace = workspaceServing(loaded, options.grace === undefined ? undefined : options.grace * 1_000);
  const telemetry = configuredTelemetry(loaded.config.telemetry);
  const overrides = defined({ workspace: workspace.options, telemetry });
  const storage = await openServingStorage(loaded);
  const parts = new ConfigParts(storage?.threads);
  const host = await createConfiguredHost(loaded, overrides, storage, parts);
  let stopReloading = () => {};
  try {
    const { url } = await listen(host, loaded, options);
    const progress = createProgress();
    const remotes = await progress.during("the remote agents", host.probe()).finally(() => progress.close());
    if (json) warnOfUnreachable(remotes);
    const other = await workspace.claim(host, url);
    if (other !== undefined && background) {
      await host.close();
      return EXIT.done;
    }
    if (other !== undefined)
      console.error(
        `troupe: the host at ${other.url} serves this workspace's external parents; this one does not.`,
      );
    const say = (line: string) => console.error(`troupe: ${line}`);
    stopReloading = reloadOnChange({ host, parts, loaded, load, say });
    const idle = options.idleEnd ?? (background ? BACKGROUND_IDLE_S : undefined);
    const stopped = idle === undefined ? undefined : untilIdle(host, idle * 1_000);
    await serveUntilStopped(
      host,
      () =>
        announce(host, url, json, [
          `Console   ${url}/`,
          `Agents    ${Object.keys(loaded.config.agents).join(", ")}`,
          ...remotes.map(
            ({ key, status, problem }) =>
              `Remote    ${key}: ${status}${problem === undefined ? "" : ` (${problem})`}`,
          ),
        ]),
      // Whoever comes from now on has to start another one.
      {
        ...defined({ idle: stopped }),
        stopping: () => {
          stopReloading();
          workspace.release();
        },
        drainMs: (loaded.config.serve?.drainSeconds ?? DRAIN_S) * 1_000,
      },
    );
    return EXIT.done;
  } catch (error) {
    await host.close();
    throw error;
  } finally {
    stopReloading();
    workspace.release();
  }
}

/** How long what runs may go on after SIGTERM, in seconds. */
const DRAIN_S = 10;

/** How long a host in the background lasts without a run or a client, in seconds. */
const BACKGROUND_IDLE_S = 600;

function listen(
  host: Host,
  { config: { serve } }: LoadedConfig,
  { hostname, port, background }: ServeOptions,
): Promise<{ readonly url: string }> {
  const wanted = port ?? serve?.port ?? 4100;
  if (!background) return host.listen({ hostname: hostname ?? serve?.hostname ?? "127.0.0.1", port: wanted });
  // Nobody sees where it listens but through the workspace's file, so any port will do.
  return host.listen({ port: wanted }).catch(() => host.listen({ port: 0 }));
}

/** Resolves when a host had nothing to do, and nobody connected, for this long. */
async function untilIdle(host: Host, milliseconds: number): Promise<void> {
  const step = Math.min(Math.max(milliseconds / 10, 100), 30_000);
  let idleSince = systemClock.now();
  while (systemClock.now() - idleSince < milliseconds) {
    await sleep(systemClock, step);
    if (await host.busy()) idleSince = systemClock.now();
  }
}
