import { ConfigError } from "../config/config-error.js";
import { findConfig, loadConfig, requireAgents } from "../config/load.js";
import { createConfiguredHost } from "./config-host.js";
import { EXIT } from "./exit-code.js";
import { createProgress } from "./progress.js";
import { announce, serveUntilStopped, warnOfUnreachable } from "./serving.js";
import { openServingStorage } from "./storage.js";

/** Options of `troupe serve`. */
export interface ServeOptions {
  readonly config?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly json?: boolean;
}

/** `troupe serve`: serves the agents of a config until it is stopped. */
export async function serveCommand({ config: named, port, hostname, json }: ServeOptions): Promise<number> {
  const file = named ?? findConfig(process.cwd());
  if (file === undefined) {
    throw new ConfigError(
      "There is no troupe.config.json here. `troupe init` writes one; or try `troupe demo`.",
    );
  }
  const loaded = await loadConfig(file, process.env);
  requireAgents(loaded);
  const host = await createConfiguredHost(loaded, {}, await openServingStorage(loaded));
  try {
    const { serve } = loaded.config;
    const { url } = await host.listen({
      hostname: hostname ?? serve?.hostname ?? "127.0.0.1",
      port: port ?? serve?.port ?? 4100,
    });
    const progress = createProgress();
    const remotes = await progress.during("the remote agents", host.probe()).finally(() => progress.close());
    if (json) warnOfUnreachable(remotes);
    await serveUntilStopped(host, () =>
      announce(host, url, json, [
        `Console   ${url}/`,
        `Agents    ${Object.keys(loaded.config.agents).join(", ")}`,
        ...remotes.map(
          ({ key, status, problem }) =>
            `Remote    ${key}: ${status}${problem === undefined ? "" : ` (${problem})`}`,
        ),
      ]),
    );
    return EXIT.done;
  } catch (error) {
    await host.close();
    throw error;
  }
}
