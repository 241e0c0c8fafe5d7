import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./peer-program.js", import.meta.url));

/** Which protocol era a peer speaks. */
export type Era = "modern" | "legacy";

/** A tool call of a peer. */
export interface PeerCall {
  readonly name?: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly meta?: Readonly<Record<string, unknown>>;
  /** The client's own limit in milliseconds. */
  readonly timeout?: number;
  /** Asks for progress. */
  readonly progress?: boolean;
}

/** What a tool call gave. */
export interface PeerResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** An MCP client that is not ours, in a process that is not ours. */
export class Peer implements AsyncDisposable {
  /** What it was told of the progress of its calls. */
  readonly progress: unknown[] = [];
  /** What it was asked to show to its person. */
  readonly forms: Record<string, unknown>[] = [];
  /** What it complained about. */
  readonly trouble: unknown[] = [];
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #commands = 0;

  /** @param answer what its person says to every form; without one it can show none. */
  constructor(url: string, token: string, era: Era, answer?: Readonly<Record<string, unknown>>) {
    const args = [PROGRAM, url, token, era, ...(answer === undefined ? [] : [JSON.stringify(answer)])];
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#gone = once(this.#child, "exit").then(() => {
      for (const { reject } of this.#waiting.values()) reject(new Error("The peer is gone."));
    });
    this.#child.stdin?.on("error", () => undefined);
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on("line", (line) => this.#line(JSON.parse(line)));
  }

  connect(): Promise<{ version?: string; instructions?: string }> {
    return this.#send({ do: "connect" }) as Promise<{ version?: string; instructions?: string }>;
  }

  list(): Promise<{ tools: Record<string, unknown>[] }> {
    return this.#send({ do: "list" }) as Promise<{ tools: Record<string, unknown>[] }>;
  }

  /** Calls a tool; `abort` takes the call back. */
  call(call: PeerCall): { result: Promise<PeerResult>; abort(): Promise<unknown> } {
    const result = this.#send({ do: "call", ...call }) as Promise<PeerResult>;
    const id = this.#commands;
    result.catch(() => undefined);
    return { result, abort: () => this.#send({ do: "abort", call: id }) };
  }

  /** Ends it without a goodbye. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }

  #send(command: Readonly<Record<string, unknown>>): Promise<unknown> {
    const id = ++this.#commands;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`);
    });
  }

  #line(line: Record<string, unknown>): void {
    if ("progress" in line) this.progress.push(line.progress);
    else if ("form" in line) this.forms.push(line.form as Record<string, unknown>);
    else if ("trouble" in line) this.trouble.push(line.trouble);
    const waiting = this.#waiting.get(Number(line.id));
    this.#waiting.delete(Number(line.id));
    if ("error" in line) waiting?.reject(Object.assign(new Error(), line.error));
    else waiting?.resolve(line.result);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.#gone;
  }
}
