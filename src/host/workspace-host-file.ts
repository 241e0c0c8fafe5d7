import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { isLoopback } from "./app.js";
import { createPrivateFile, makeTroupeFolder, readPrivateFile, troupeFolder } from "./workspace-file.js";
import { createInstance, workspaceProof } from "./workspace-token.js";

const loopbackUrl = z
  .url({ protocol: /^http$/ })
  .refine((url) => isLoopback(new URL(url).hostname), "has to be on this machine");

const hostFile = z.object({
  url: loopbackUrl,
  mcpUrl: loopbackUrl,
  pid: z.number().int().positive(),
  startedAt: z.number().int().nonnegative(),
  instance: z.string().regex(/^[0-9a-f]{32}$/),
});

/** The host of a workspace, as its file tells. */
export type WorkspaceHost = Readonly<z.infer<typeof hostFile>>;

/** How long a host may take to say who it is, in milliseconds. */
const ANSWER_MS = 3_000;

/** @returns what the file of a workspace's host says, if it can be trusted: the host may be gone. */
export function readHostFile(workspace: string): WorkspaceHost | undefined {
  try {
    const text = readPrivateFile(hostFileOf(workspace));
    return text === undefined ? undefined : hostFile.safeParse(JSON.parse(text)).data;
  } catch {
    // Somebody else's file, or half a file of an older version.
    return undefined;
  }
}

/**
 * Tells the workspace that this host serves it.
 * @returns the other host that does so already; `undefined` when the file is ours now.
 */
export async function claimWorkspace(
  workspace: string,
  host: WorkspaceHost,
): Promise<WorkspaceHost | undefined> {
  makeTroupeFolder(workspace);
  const file = hostFileOf(workspace);
  for (;;) {
    if (createPrivateFile(file, `${JSON.stringify(host)}\n`)) return undefined;
    const other = readHostFile(workspace);
    if (other !== undefined && (await isServing(other))) return other;
    putAside(file, other?.instance);
  }
}

/** Takes the file away again, if it is still this host's. */
export function releaseWorkspace(workspace: string, { instance }: WorkspaceHost): void {
  if (readHostFile(workspace)?.instance === instance) rmSync(hostFileOf(workspace), { force: true });
}

/**
 * The host that serves a workspace now.
 * @param options `token` is the workspace's: then only a host that knows it too counts.
 * @returns `undefined` when none answers, or what answers there is another program.
 */
export async function findWorkspaceHost(
  workspace: string,
  options: AskOptions = {},
): Promise<WorkspaceHost | undefined> {
  const host = readHostFile(workspace);
  return host !== undefined && (await isServing(host, options)) ? host : undefined;
}

interface AskOptions {
  readonly token?: string;
  readonly signal?: AbortSignal;
}

const greeting = z.object({ instance: z.string(), proof: z.string().optional() });

async function isServing(host: WorkspaceHost, { token, signal }: AskOptions = {}): Promise<boolean> {
  const nonce = randomBytes(16).toString("hex");
  try {
    const url = new URL(`/workspace?nonce=${nonce}`, host.mcpUrl);
    const bounds = [AbortSignal.timeout(ANSWER_MS), ...(signal === undefined ? [] : [signal])];
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.any(bounds) });
    const { instance, proof = "" } = greeting.parse(await response.json());
    if (instance !== host.instance) return false;
    return token === undefined || isEqual(proof, workspaceProof(token, nonce, Number(url.port)));
  } catch {
    return false;
  }
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Removes a file of a host that is gone. Another process may do the same, and write its own between two looks at it. */
function putAside(file: string, instance: string | undefined): void {
  const aside = `${file}.${createInstance()}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const text = instanceIn(aside);
  if (text !== instance && text !== undefined) createPrivateFile(file, readFileSync(aside, "utf8"));
  rmSync(aside, { force: true });
}

function instanceIn(file: string): string | undefined {
  try {
    return hostFile.safeParse(JSON.parse(readPrivateFile(file) ?? "")).data?.instance;
  } catch {
    return undefined;
  }
}

function hostFileOf(workspace: string): string {
  return join(troupeFolder(workspace), "host.json");
}
