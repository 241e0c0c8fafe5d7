import type { LoadedConfig } from "../config/load.js";
import type { PermissionOptions } from "../core/approval.js";
import { defined } from "../core/defined.js";
import type { Driver } from "../core/driver.js";
import { acp } from "../drivers/acp/acp.js";
import { gemini, openCode } from "../drivers/acp/presets.js";
import { claude } from "../drivers/claude/claude.js";
import { codex } from "../drivers/codex/codex.js";
import { cursor } from "../drivers/cursor/cursor.js";

/** What a config says of one local agent. */
export type ConfiguredAgent = LoadedConfig["config"]["agents"][string];

/** The driver that a config names for one agent. */
export function configuredDriver(agent: ConfiguredAgent): Driver {
  const { model, executable, sandbox, command, args, environment } = agent;
  switch (agent.driver) {
    case "codex":
      return codex(defined({ model, executable, sandbox }));
    case "gemini":
      return gemini(defined({ model, executable, environment }));
    case "opencode":
      return openCode(defined({ model, executable, environment }));
    case "cursor":
      return cursor(defined({ model, executable }));
    case "acp":
      return acp({ command: command ?? "", ...defined({ args, model, environment }) });
    default:
      return claude(defined({ model, executable }));
  }
}

/** What a config says of permissions, as agents take it. */
export function permissionsOf(permissions: NonNullable<ConfiguredAgent["permissions"]>): PermissionOptions {
  return typeof permissions === "string" ? permissions : defined(permissions);
}
