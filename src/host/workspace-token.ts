import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Toolset } from "../bridges/mcp/tool-catalog.js";
import {
  createPrivateFile,
  makeTroupeFolder,
  readPrivateFile,
  troupeFolder,
  writePrivateFile,
} from "./workspace-file.js";

/** How a host takes external parents in. */
export interface WorkspaceOptions {
  readonly access: WorkspaceAccess;
  /** Tells this start of the host from others, see {@link createInstance}. */
  readonly instance: string;
  /** How long what a client has begun goes on without it, before the policy's `onRunEnd` decides; in milliseconds, default 10,000. */
  readonly graceMs?: number;
  /** Which tools it gets; the host's by default. */
  readonly toolset?: Toolset;
}

/** Names one start of a host, in 128 random bits. */
export function createInstance(): string {
  return randomBytes(16).toString("hex");
}

/** What a token looks like: 256 random bits. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Who may come in as an external parent. */
export interface WorkspaceAccess {
  /**
   * Whether a token lets in at this moment; compared in constant time.
   * @returns `undefined` when not, else what tells whether it still does. That keeps no token, only a hash.
   */
  admit(token: string): (() => boolean) | undefined;
  /**
   * Shows that this host knows the token without telling it, so that nobody hands it to whatever listens on that port now.
   * @returns `undefined` when there is no token.
   */
  prove(nonce: string, port: number): string | undefined;
}

/** @returns the token of a workspace, if it has one. @throws TroupeError `invalid_input` when others may read the file. */
export function readWorkspaceToken(workspace: string): string | undefined {
  const token = readPrivateFile(tokenFile(workspace))?.trim();
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}

/** @returns the token of a workspace, made now if it has none. @throws TroupeError as {@link readWorkspaceToken}. */
export function ensureWorkspaceToken(workspace: string): string {
  const known = readWorkspaceToken(workspace);
  if (known !== undefined) return known;
  makeTroupeFolder(workspace);
  const token = randomBytes(32).toString("base64url");
  if (createPrivateFile(tokenFile(workspace), `${token}\n`)) return token;
  // Another process was faster, or what stands there is no token.
  const other = readWorkspaceToken(workspace);
  if (other !== undefined) return other;
  writePrivateFile(tokenFile(workspace), `${token}\n`);
  return token;
}

/** Revokes the token of a workspace. @returns whether there was one. */
export function removeWorkspaceToken(workspace: string): boolean {
  const known = hasToken(workspace);
  rmSync(tokenFile(workspace), { force: true });
  return known;
}

/** The access that the token of a workspace gives, as its file says at each moment. */
export function workspaceAccess(workspace: string): WorkspaceAccess {
  const current = (): string | undefined => {
    try {
      return readWorkspaceToken(workspace);
    } catch {
      // A token that others may have read lets nobody in.
      return undefined;
    }
  };
  return {
    admit(token) {
      const presented = digest(token);
      const isGood = () => {
        const known = current();
        return known !== undefined && timingSafeEqual(digest(known), presented);
      };
      return isGood() ? isGood : undefined;
    },
    prove(nonce, port) {
      const known = current();
      return known === undefined ? undefined : workspaceProof(known, nonce, port);
    },
  };
}

/** What {@link WorkspaceAccess.prove} gives. The port is in it, so that no other program can pass on the question. */
export function workspaceProof(token: string, nonce: string, port: number): string {
  return createHmac("sha256", token).update(`troupe workspace host ${port} ${nonce}`).digest("hex");
}

function tokenFile(workspace: string): string {
  return join(troupeFolder(workspace), "token");
}

function hasToken(workspace: string): boolean {
  try {
    return readPrivateFile(tokenFile(workspace)) !== undefined;
  } catch {
    return true;
  }
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
