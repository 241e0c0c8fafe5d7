import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { defined } from "../core/defined.js";
import { TroupeError } from "../core/errors.js";
import { findWorkspaceHost } from "../host/workspace-host-file.js";
import { ensureWorkspaceToken, removeWorkspaceToken } from "../host/workspace-token.js";
import { workspaceOf } from "./bridge/bridge-file.js";
import type { ClientName } from "./choices.js";
import { EXIT } from "./exit-code.js";
import { installationFor } from "./install/clients.js";
import { type Merged, merge, snippetOf } from "./install/merge.js";
import { serverEntry } from "./install/server-entry.js";
import { configFile } from "./mcp-command.js";

/** Options of `troupe mcp install`. */
export interface McpInstallOptions {
  readonly config?: string;
  readonly write?: boolean;
  readonly dir?: string;
  readonly json?: boolean;
}

/**
 * `troupe mcp install`: prints what goes into a client's config, or writes it there. What is there already stays.
 * @returns 1 when it was to be written, and was not.
 */
export async function mcpInstallCommand(client: ClientName, options: McpInstallOptions): Promise<number> {
  const { write = false, dir, json } = options;
  const config = configFile(options.config);
  const workspace = workspaceOf(config);
  ensureWorkspaceToken(workspace);
  const folder = resolve(client === "codex" ? workspace : (dir ?? workspace));
  const home = client === "codex" && dir !== undefined ? resolve(dir) : undefined;
  const installation = installationFor(client, await serverEntry(config, folder), {
    folder,
    ...defined({ home }),
  });
  const { file, command } = installation;
  const snippet = snippetOf(installation);
  const merged: Merged = write ? merge(installation, contentOf(file)) : { refusal: "" };
  if ("text" in merged) writeOver(file, merged.text);
  const written = "text" in merged;
  const problem = write && "refusal" in merged ? `${file} is left as it is: ${merged.refusal}.` : undefined;
  if (json) {
    console.log(JSON.stringify({ client, file, written, snippet, ...defined({ command, problem }) }));
  } else if (written) console.log(`${file} was written.`);
  else if (write && problem === undefined) console.log(`${file} has it already.`);
  else {
    if (problem !== undefined) console.error(`troupe: ${problem}`);
    console.log(`# ${file}\n${snippet}`.trimEnd());
    if (command !== undefined && !write) console.log(`\n# or\n${command}`);
  }
  return problem === undefined ? EXIT.done : EXIT.failed;
}

/** `troupe mcp revoke`: no client gets in with the token that the workspace has now; a new one is made when it is needed. */
export async function mcpRevokeCommand(options: {
  readonly config?: string;
  readonly json?: boolean;
}): Promise<number> {
  const workspace = workspaceOf(configFile(options.config));
  const revoked = removeWorkspaceToken(workspace);
  const host = await findWorkspaceHost(workspace);
  if (options.json) console.log(JSON.stringify({ workspace, revoked, ...defined({ host: host?.url }) }));
  else if (!revoked) console.log(`${workspace} has no token.`);
  else
    console.log(
      `The token of ${workspace} is revoked.${host === undefined ? "" : ` The host at ${host.url} sends away who came with it.`}`,
    );
  return EXIT.done;
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new TroupeError("invalid_input", `${file} cannot be read.`, { cause: error });
  }
}

/** Whole or not at all; a link stays one, and the mode what it was. */
function writeOver(named: string, text: string): void {
  mkdirSync(dirname(named), { recursive: true });
  const { file, mode } = target(named);
  const beside = join(dirname(file), `.${randomBytes(8).toString("hex")}.tmp`);
  try {
    writeFileSync(beside, text, { flag: "wx", ...defined({ mode }) });
    renameSync(beside, file);
  } catch (cause) {
    rmSync(beside, { force: true });
    throw new TroupeError("invalid_input", `${named} cannot be written.`, { cause });
  }
}

function target(named: string): { readonly file: string; readonly mode?: number } {
  try {
    const file = realpathSync(named);
    return { file, mode: statSync(file).mode & 0o777 };
  } catch {
    return { file: named };
  }
}
