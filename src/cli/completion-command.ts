import type { Command } from "commander";
import { TroupeError } from "../core/errors.js";
import { completionScript, isShell, SHELLS } from "./completion/script.js";
import { EXIT } from "./exit-code.js";

/**
 * `troupe completion`: prints what a shell needs to complete commands, options and files.
 * @throws TroupeError `invalid_input` for a shell that is not known.
 */
export function completionCommand(shell: string, program: Command): number {
  if (!isShell(shell))
    throw new TroupeError("invalid_input", `The shell must be one of ${SHELLS.join(", ")}.`);
  process.stdout.write(completionScript(shell, program));
  return EXIT.done;
}

/** The keys of the agents of the config in this folder, one a line, for completions. Says nothing when there is none. */
export async function agentKeys(): Promise<string[]> {
  const { examineConfig, findConfig } = await import("../config/load.js");
  const file = findConfig(process.cwd());
  // A key on the keyboard must not run what lies in a folder.
  if (file === undefined || /\.m?js$/.test(file)) return [];
  const examined = await examineConfig(file, process.env).catch(() => undefined);
  return Object.keys(examined?.loaded?.config.agents ?? {});
}
