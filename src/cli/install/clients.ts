import { homedir } from "node:os";
import { join } from "node:path";
import type { ClientName } from "../choices.js";
import { SERVER_NAME, type ServerEntry } from "./server-entry.js";

/** What goes into a client's config. */
export interface Installation {
  readonly file: string;
  /** `json`: the member `name` of the member `section`. `toml`: the table `section.name`. */
  readonly format: "json" | "toml";
  readonly section: string;
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** A command that does the same. */
  readonly command?: string;
}

/**
 * What a client has to be told.
 * @param folder of the workspace; for Codex, the one of its own config.
 */
export function installationFor(
  client: ClientName,
  server: ServerEntry,
  { folder, home = codexHome() }: { readonly folder: string; readonly home?: string },
): Installation {
  const name = SERVER_NAME;
  const { command, variables, timeoutMs } = server;
  switch (client) {
    case "claude": {
      // Claude Code starts its servers in the project's folder, with all of its own environment.
      const entry = { command, args: argsOf(server, undefined), timeout: timeoutMs };
      const json = JSON.stringify({ type: "stdio", ...entry });
      return {
        file: join(folder, ".mcp.json"),
        format: "json",
        section: "mcpServers",
        name,
        entry,
        command: `claude mcp add-json ${name} ${quoted(json)}`,
      };
    }
    case "codex":
      return {
        file: join(home, "config.toml"),
        format: "toml",
        section: "mcp_servers",
        name,
        entry: {
          command,
          // Its config holds for all folders.
          args: [...server.args, "--config", server.config],
          // A server of Codex gets PATH and HOME, and what is named here.
          ...(variables.length === 0 ? {} : { env_vars: variables }),
          startup_timeout_sec: STARTUP_S,
          tool_timeout_sec: Math.ceil(timeoutMs / 1_000),
        },
      };
    case "cursor":
    case "vscode": {
      const env = Object.fromEntries(variables.map((variable) => [variable, `\${env:${variable}}`]));
      const entry = {
        ...(client === "vscode" ? { type: "stdio" } : {}),
        command,
        args: argsOf(server, "${workspaceFolder}"),
        ...(variables.length === 0 ? {} : { env }),
      };
      return client === "cursor"
        ? { file: join(folder, ".cursor", "mcp.json"), format: "json", section: "mcpServers", name, entry }
        : { file: join(folder, ".vscode", "mcp.json"), format: "json", section: "servers", name, entry };
    }
  }
}

/** A host that has to be started first probes its remotes; Codex waits 10 s by default. */
const STARTUP_S = 30;

/** @param place what the client puts in for the workspace's folder; none when it works there. */
function argsOf({ args, config, isDefault }: ServerEntry, place: string | undefined): string[] {
  if (!isDefault) return [...args, "--config", config];
  return place === undefined ? [...args] : [...args, "--config", `${place}/${config.split(/[\\/]/).at(-1)}`];
}

function codexHome(): string {
  return process.env.CODEX_HOME || join(homedir(), ".codex");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
