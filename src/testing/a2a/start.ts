import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../core/clock.js";

/** Options of {@link startScriptedAgent}; each is a flag of the executable. */
export interface ScriptedAgentOptions {
  readonly port?: number;
  readonly name?: string;
  readonly tenant?: string;
  readonly token?: string;
  /** The card asks for the token too. */
  readonly guardCard?: boolean;
  readonly binding?: "jsonrpc" | "rest" | "both";
  /** `false`: the card says that it cannot stream. */
  readonly streaming?: boolean;
  /** Milliseconds between two steps; default 5. */
  readonly paceMs?: number;
}

/** One call that the agent received. Credentials are replaced by `(present)`. */
export interface SeenCall {
  /** The JSON-RPC method, or HTTP method and path of a REST call. */
  readonly method: string;
  readonly params: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** A running scripted agent. */
export interface ScriptedAgent {
  readonly url: string;
  readonly cardUrl: string;
  readonly pid: number;
  /** Every call so far, in order. */
  seen(): Promise<readonly SeenCall[]>;
  /** Ends the process and resolves when it is gone. */
  close(): Promise<void>;
}

/** How long the process may take to get ready, in milliseconds. */
const START_TIMEOUT_MS = 20_000;

/**
 * Starts an A2A agent in a process of its own. It ends with its parent.
 * @throws Error when it does not get ready.
 */
export async function startScriptedAgent(options: ScriptedAgentOptions = {}): Promise<ScriptedAgent> {
  // Run from its source, this file still needs the compiled executable.
  const compiled = import.meta.url.endsWith(".ts")
    ? new URL("../../../dist/testing/a2a/scripted-agent.js", import.meta.url)
    : new URL("./scripted-agent.js", import.meta.url);
  const args = ["--with-stdin", "--port", String(options.port ?? 0)];
  if (options.name !== undefined) args.push("--name", options.name);
  if (options.tenant !== undefined) args.push("--tenant", options.tenant);
  if (options.token !== undefined) args.push("--token", options.token);
  if (options.guardCard) args.push("--guard-card");
  if (options.binding !== undefined) args.push("--binding", options.binding);
  if (options.streaming === false) args.push("--no-streaming");
  const child = spawn(process.execPath, [fileURLToPath(compiled), ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, TROUPE_PACE_MS: String(options.paceMs ?? 5) },
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-2000);
  });
  child.stdin.on("error", () => undefined);
  const gone = once(child, "exit").catch(() => undefined);
  const close = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await gone;
  };

  const ready = await new Promise<{ url: string; card: string }>((resolve, reject) => {
    const fail = (reason: string) =>
      reject(new Error(`The scripted agent did not start: ${reason}\n${errors}`));
    const timer = systemClock.timer(START_TIMEOUT_MS, () => fail("it took too long"));
    const lines = createInterface({ input: child.stdout });
    lines.once("line", (line) => {
      timer.cancel();
      resolve(JSON.parse(line));
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`exit ${code}`));
  }).catch(async (error: unknown) => {
    child.kill("SIGKILL");
    throw error;
  });
  return {
    url: ready.url,
    cardUrl: ready.card,
    pid: Number(child.pid),
    seen: async () => (await fetch(`${ready.url}/__seen`)).json() as Promise<SeenCall[]>,
    close,
  };
}
