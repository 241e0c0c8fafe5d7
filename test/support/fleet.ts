import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import type { ScriptedAgentOptions } from "../../src/testing/a2a/start.js";
import type { Script } from "../../src/testing/claude/script.js";
import { type Remote, startRemote } from "../cli/remote.js";
import { type Command, start } from "../cli/troupe.js";
import { type CuttingProxy, startCuttingProxy } from "./cutting-proxy.js";
import { collect, type Frame, framesOf, nameOf } from "./frames.js";
import { RedisServer } from "./redis-server.js";

const PROGRAM = fileURLToPath(new URL("../journal/redis-host.js", import.meta.url));

/** How long a host may take for an answer that it has at hand, in milliseconds. */
const PATIENCE_MS = 30_000;

/** A host in a process of its own. */
export type HostProcess = Command & { readonly url: string };

/** Options of a host of a fleet, beside those of `createHost` that can be written as JSON. */
export type FleetHostOptions = Readonly<Record<string, unknown>> & {
  readonly script?: Script;
  readonly leaseMs?: number;
};

/** How a host's process is started. */
export interface HostStart {
  /** What its heap may grow to, in megabytes: one that keeps what it should not dies of it. */
  readonly heapMb?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a program that tells the address of its host. */
export async function startHost(
  args: readonly string[],
  { heapMb, env = {} }: HostStart = {},
): Promise<HostProcess> {
  const node = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`];
  const host = start(process.execPath, [...node, ...args], { cwd: tmpdir(), env });
  await host.says("http://");
  return Object.assign(host, { url: host.stdout.trim() });
}

/** How many messages a remote got. */
export async function sentTo(remote: Remote): Promise<number> {
  return (await remote.seen()).filter(({ method }) => /Send|message/i.test(method)).length;
}

/** Hosts in processes of their own on one Redis, and a remote agent behind a proxy. */
export class Fleet implements AsyncDisposable {
  readonly hosts = new Set<HostProcess>();

  private constructor(
    readonly redis: RedisServer,
    readonly remote: Remote,
    readonly proxy: CuttingProxy,
    private readonly options: FleetHostOptions,
  ) {}

  static async start(options: FleetHostOptions = {}, agent: ScriptedAgentOptions = {}): Promise<Fleet> {
    const remote = await startRemote(agent);
    return new Fleet(await RedisServer.start(), remote, await startCuttingProxy(remote.url), options);
  }

  async host(options: FleetHostOptions = {}, how: HostStart = {}): Promise<HostProcess> {
    const all = JSON.stringify({ takeoverMs: 300, ...this.options, ...options });
    const card = `${this.proxy.url}/.well-known/agent-card.json`;
    const host = await startHost([PROGRAM, this.redis.url, card, all], how);
    this.hosts.add(host);
    return host;
  }

  /** Ends a host without a warning. */
  async kill(host: HostProcess): Promise<void> {
    this.hosts.delete(host);
    host.child.kill("SIGKILL");
    await host.exit;
  }

  /** How many messages the remote got. */
  sent(): Promise<number> {
    return sentTo(this.remote);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.hosts) host.child.kill("SIGCONT");
    await Promise.all([...this.hosts].map((host) => host[Symbol.asyncDispose]()));
    await this.proxy.close();
    await this.remote[Symbol.asyncDispose]();
    await this.redis[Symbol.asyncDispose]();
  }
}

let threads = 0;

/** Asks a host for a run, in a thread of its own or that of `ids`. */
export async function ask(
  host: HostProcess,
  prompt: string,
  ids: { readonly threadId?: string; readonly runId?: string } = {},
): Promise<{ readonly threadId: string; readonly runId: string; readonly response: Response }> {
  const { threadId = `t${++threads}`, runId = `r${threads}` } = ids;
  const messages = [{ id: `m-${runId}`, role: "user", content: prompt }];
  const response = await post(host, "/agents/claude/run", { threadId, runId, messages });
  return { threadId, runId, response };
}

export function post(host: HostProcess, path: string, body: unknown = {}): Promise<Response> {
  return fetch(host.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at what a route answers
export async function get(host: HostProcess, path: string): Promise<any> {
  return (await fetch(host.url + path, { signal: AbortSignal.timeout(PATIENCE_MS) })).json();
}

/** Reads until a subagent's event of that name, and goes away. */
export async function until(response: Response, name: string): Promise<Frame> {
  for await (const frame of framesOf(response)) if (frame.event.name === name) return frame;
  throw new Error(`The stream ended without ${name}.`);
}

/** A thread from its beginning to the end of so many runs. */
export async function readThread(host: HostProcess, threadId: string, ends = 1): Promise<Frame[]> {
  let seen = 0;
  const isLast = ({ event }: Frame) => /^RUN_(?:FINISHED|ERROR)$/.test(event.type) && ++seen === ends;
  return collect(await fetch(`${host.url}/threads/${threadId}/events`), isLast);
}

/** The terminal events of runs and delegations, in order. */
export function endsOf(frames: readonly Frame[]): string[] {
  return frames
    .map(nameOf)
    .filter((name) => /subagent\.(?:finished|failed|cancelled)|RUN_(?:FINISHED|ERROR)/.test(name));
}
