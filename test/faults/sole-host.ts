import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ScriptedAgentOptions } from "../../src/testing/a2a/start.js";
import { type Remote, startRemote } from "../cli/remote.js";
import { get, type HostProcess, type HostStart, sentTo, startHost } from "../support/fleet.js";

const PROGRAM = fileURLToPath(new URL("sqlite-host.js", import.meta.url));

/** How a host of a {@link Site} is started. */
export interface SiteHostOptions extends HostStart {
  /** Options of `createHost` that can be written as JSON. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Options of `createDurableStorage` that can be written as JSON. */
  readonly storage?: Readonly<Record<string, unknown>>;
}

/** A remote agent, and hosts in processes of their own on one SQLite file. */
export class Site implements AsyncDisposable {
  readonly #hosts: HostProcess[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "troupe-site-"));

  private constructor(readonly remote: Remote) {}

  static async start(agent: ScriptedAgentOptions = {}): Promise<Site> {
    return new Site(await startRemote(agent));
  }

  /** @param folder where its journal is; a folder of the site by default. */
  async host(
    { options = {}, storage = {}, ...how }: SiteHostOptions = {},
    folder: string = this.#folder,
  ): Promise<HostProcess> {
    const file = join(folder, "journal.db");
    const args = [PROGRAM, file, this.remote.cardUrl, JSON.stringify(options), JSON.stringify(storage)];
    const host = await startHost(args, how);
    this.#hosts.push(host);
    return host;
  }

  /** How many messages the remote got. */
  sent(): Promise<number> {
    return sentTo(this.remote);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host[Symbol.asyncDispose]()));
    await this.remote[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Ends a host as a person would. @returns its exit code. */
export async function stop(host: HostProcess): Promise<number | NodeJS.Signals | null> {
  host.child.kill("SIGTERM");
  return host.exit;
}

/** The states of a run's delegations. */
export async function delegationsOf(host: HostProcess, runId: string): Promise<string[]> {
  const { delegations } = await get(host, `/runs/${runId}/delegations`);
  return delegations.map(({ status }: { status: string }) => status);
}

/** Processes that a process has started and that are still there. */
export function childrenOf(pid: number | undefined): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const text = readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim();
    return text === "" ? [] : text.split(/\s+/);
  });
}
