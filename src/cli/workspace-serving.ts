import type { LoadedConfig } from "../config/load.js";
import { defined } from "../core/defined.js";
import { errorText } from "../core/errors.js";
import type { Host } from "../host/host.js";
import { claimWorkspace, releaseWorkspace, type WorkspaceHost } from "../host/workspace-host-file.js";
import {
  createInstance,
  ensureWorkspaceToken,
  type WorkspaceOptions,
  workspaceAccess,
} from "../host/workspace-token.js";

/** What lets external parents into a host, as far as its workspace's folder can be written. */
export interface WorkspaceServing {
  /** Absent where it cannot; a line on standard error said why. */
  readonly options?: WorkspaceOptions;
  /** Tells the workspace where the host listens. @returns the host that was there before. */
  claim(host: Host, url: string): Promise<WorkspaceHost | undefined>;
  /** Takes that back. */
  release(): void;
}

/** Prepares the door for external parents, and makes the workspace's token if there is none. */
export function workspaceServing({ config, folder }: LoadedConfig, graceMs?: number): WorkspaceServing {
  let claimed: WorkspaceHost | undefined;
  if (config.subAgents === undefined || config.subAgents.agents.length === 0) return { ...NOBODY };
  try {
    ensureWorkspaceToken(folder);
  } catch (error) {
    console.error(`troupe: no external parents are let in. ${errorText(error)}`);
    return { ...NOBODY };
  }
  const instance = createInstance();
  return {
    options: {
      access: workspaceAccess(folder),
      instance,
      toolset: config.subAgents.options?.toolset ?? "skills",
      ...defined({ graceMs }),
    },
    async claim({ mcpUrl }, url) {
      const startedAt = Date.now();
      const mine = { url: localUrl(url), mcpUrl, pid: process.pid, startedAt, instance };
      const other = await claimWorkspace(folder, mine);
      if (other === undefined) claimed = mine;
      return other;
    },
    release() {
      if (claimed !== undefined) releaseWorkspace(folder, claimed);
      claimed = undefined;
    },
  };
}

const NOBODY: WorkspaceServing = { claim: async () => undefined, release: () => undefined };

/** How programs of this machine reach what listens there. */
function localUrl(url: string): string {
  return url.replace(/\/\/(?:0\.0\.0\.0|\[::\]):/, "//127.0.0.1:");
}
