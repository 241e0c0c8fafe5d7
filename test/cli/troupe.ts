import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Script } from "../../src/testing/claude/script.js";
import { scriptedClaude } from "../../src/testing/claude/start.js";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** An empty folder with whatever a test puts there. */
export class Folder implements AsyncDisposable {
  constructor(readonly path: string) {}

  /** Writes a file. @returns its path. */
  async write(name: string, content: string): Promise<string> {
    const path = join(this.path, name);
    await writeFile(path, content);
    return path;
  }

  /** Writes `troupe.config.json` with the scripted Claude Code as `claude`, and `research` at this card. */
  async configure(options: {
    readonly cardUrl: string;
    readonly script?: Script;
    readonly config?: Readonly<Record<string, unknown>>;
    readonly agent?: Readonly<Record<string, unknown>>;
    readonly subAgent?: Readonly<Record<string, unknown>>;
  }): Promise<string> {
    // A config names one program without arguments.
    const [node, program] = scriptedClaude();
    const script = options.script === undefined ? "" : JSON.stringify(options.script);
    const scriptFile = await this.write("script.json", script);
    const executable = await this.write(
      "claude",
      [
        "#!/bin/sh",
        `export TROUPE_TRACE='${join(this.path, "trace.jsonl")}'`,
        ...(script === "" ? [] : [`export TROUPE_SCRIPT='${scriptFile}'`]),
        `exec '${node}' '${program}' "$@"`,
        "",
      ].join("\n"),
    );
    await chmod(executable, 0o755);
    const subAgent = { name: "research", agentCardUrl: options.cardUrl, ...options.subAgent };
    return this.write(
      "troupe.config.json",
      JSON.stringify({
        agents: { claude: { driver: "claude", executable, ...options.agent } },
        subAgents: { agents: [subAgent] },
        ...options.config,
      }),
    );
  }

  /** The process of the scripted Claude Code that was started last. */
  claudePid(): number {
    const lines = readFileSync(join(this.path, "trace.jsonl"), "utf8").trim().split("\n");
    return Number(lines.map((line) => JSON.parse(line)).findLast((line) => "pid" in line)?.pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Makes a {@link Folder}; remove it with `await using`. */
export async function makeFolder(): Promise<Folder> {
  return new Folder(await mkdtemp(join(tmpdir(), "troupe-cli-")));
}

/** A command that runs, with what it has said so far. */
export class Command implements AsyncDisposable {
  stdout = "";
  stderr = "";
  /** Resolves when the process is gone and its output was read. */
  readonly exit: Promise<number | NodeJS.Signals | null>;
  readonly #waiting = new Set<() => void>();
  #over = false;

  constructor(readonly child: ChildProcess) {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#wake();
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#wake();
    });
    child.stdin?.on("error", () => undefined);
    this.exit = once(child, "close").then(([code, signal]) => {
      this.#over = true;
      this.#wake();
      return signal ?? code;
    });
  }

  /** Its lines of JSON on standard output. */
  get lines(): Record<string, unknown>[] {
    return this.stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }

  /** Waits until it has said `text`; it fails when the process ends without. */
  async says(text: string): Promise<void> {
    while (!this.stdout.includes(text) && !this.stderr.includes(text)) {
      if (this.#over) throw new Error(`It never said "${text}":\n${this.stdout}\n${this.stderr}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) this.child.kill("SIGKILL");
    await this.exit;
  }
}

/** How a command is started. */
export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `troupe` as a person's shell would, without a terminal. */
export function troupe(args: readonly string[], options: CommandOptions): Command {
  return start(process.execPath, [MAIN, ...args], options);
}

/** Starts `troupe` in a terminal of 100 columns; what is written to its standard input are key strokes. */
export function troupeInTerminal(args: readonly string[], options: CommandOptions): Command {
  const words = [process.execPath, MAIN, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const command = `stty cols 100 rows 30; exec ${words.join(" ")}`;
  return start("script", ["-qec", command, "/dev/null"], {
    ...options,
    env: { TERM: "xterm-256color", ...options.env },
  });
}

/** Runs another program beside it. */
export function start(file: string, args: readonly string[], { cwd, env }: CommandOptions): Command {
  return new Command(
    spawn(file, args, {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd, LANG: "C.UTF-8", SHELL: "/bin/sh", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    }),
  );
}

/** Whether a process lives. One that waits for its parent to notice its end does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return !existsSync("/proc/self");
  }
}

/** Whether a process that was killed is gone: the kernel takes a moment. */
export async function isGone(pid: number): Promise<boolean> {
  for (let looks = 0; looks < 1_000 && isAlive(pid); looks++) await setTimeout(10);
  return !isAlive(pid);
}
