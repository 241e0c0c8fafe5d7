import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { type Clock, sleep, withinTime } from "../../core/clock.js";
import { errorText, type RunErrorCode, TroupeError } from "../../core/errors.js";
import { LineSplitter } from "./line-splitter.js";
import { forgetGroup, signalGroup, trackGroup } from "./process-group.js";
import { TextTail } from "./text-tail.js";

/** How a {@link Program} is started and who listens to it. */
export interface ProgramOptions {
  /** The executable and its arguments; looked up on the `PATH` of `env`. */
  readonly command: readonly [string, ...string[]];
  /** Absolute path. */
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Bytes of one line of output. Default 16 MiB. */
  readonly maxLineBytes?: number;
  /** A line of standard output that is JSON; `line` is its text. */
  onValue(value: unknown, line: string): void;
  /** A line of standard output that is no JSON. */
  onGarbage(line: string): void;
  onStderr(text: string): void;
  /** The program can no longer be understood, or a handler threw. The program goes on until it is ended. */
  onFault(error: TroupeError<RunErrorCode>): void;
}

/** How a {@link Program} ended. */
export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The program could not be started. */
  readonly error?: TroupeError<RunErrorCode>;
  /** The last 4,000 characters of standard error. */
  readonly stderr: string;
}

/** How long {@link Program.end} waits before it gets rougher, in milliseconds. */
export interface ProgramPatience {
  /** After its input was ended. Default 2,000. */
  readonly inputMs?: number;
  /** After SIGTERM. Default 2,000. */
  readonly terminateMs?: number;
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;
const STDERR_CHARACTERS = 4_000;
const DEFAULT_PATIENCE_MS = 2_000;
/** What a group may do after its leader has gone. */
const LEFTOVER_MS = 250;
/** A process that left the group may hold the pipes open for ever. */
const PIPES_MS = 500;
/** SIGKILL works at once, unless the process hangs in the kernel. */
const KILL_MS = 5_000;

/** A child process that speaks lines of JSON, with everything that it starts. It leads a process group of its own. */
export class Program {
  /** Resolves when the process, its group and its pipes are gone. Never rejects. */
  readonly exited: Promise<ProgramExit>;
  readonly #clock: Clock;
  readonly #child: ChildProcessWithoutNullStreams | undefined;
  readonly #stderr = new TextTail(STDERR_CHARACTERS);
  #settle: (exit: ProgramExit) => void = () => {};
  #over = false;
  #ending: Promise<ProgramExit> | undefined;

  constructor(options: ProgramOptions) {
    this.#clock = options.clock;
    this.exited = new Promise((resolve) => {
      this.#settle = (exit) => {
        this.#over = true;
        resolve(exit);
      };
    });
    try {
      checkWorkspace(options.cwd);
      this.#child = start(options);
    } catch (error) {
      this.#settle({ code: null, signal: null, stderr: "", error: startError(error, options) });
      return;
    }
    this.#listen(this.#child, options);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The last 4,000 characters of standard error so far. */
  get stderr(): string {
    return this.#stderr.toString();
  }

  /** Writes one line of JSON. A program that does not listen any more is no error: its exit tells. */
  send(value: unknown): void {
    if (this.#over || !this.#child?.stdin.writable) return;
    this.#child.stdin.write(`${JSON.stringify(value)}\n`);
  }

  /** Writes `text` as it is and ends the program's input. */
  sendAll(text: string): void {
    if (!this.#over && this.#child?.stdin.writable) this.#child.stdin.end(text);
  }

  /** Ends the program's input. */
  endInput(): void {
    if (!this.#over && this.#child?.stdin.writable) this.#child.stdin.end();
  }

  /** Ends its input, waits, sends SIGTERM to its group, waits, sends SIGKILL. Calling it again changes nothing. */
  end(patience: ProgramPatience = {}): Promise<ProgramExit> {
    this.#ending ??= this.#end(patience);
    return this.#ending;
  }

  async #end(patience: ProgramPatience): Promise<ProgramExit> {
    const pid = this.pid;
    this.endInput();
    const gently = await withinTime(this.#clock, patience.inputMs ?? DEFAULT_PATIENCE_MS, this.exited);
    if (gently || pid === undefined) return gently ?? this.exited;
    signalGroup(pid, "SIGTERM");
    const terminated = await withinTime(
      this.#clock,
      patience.terminateMs ?? DEFAULT_PATIENCE_MS,
      this.exited,
    );
    if (terminated) return terminated;
    signalGroup(pid, "SIGKILL");
    const killed = await withinTime(this.#clock, KILL_MS, this.exited);
    if (killed) return killed;
    this.#release(pid);
    this.#settle({ code: null, signal: "SIGKILL", stderr: this.stderr });
    return this.exited;
  }

  #listen(child: ChildProcessWithoutNullStreams, options: ProgramOptions): void {
    const guarded = (handler: () => void) => {
      try {
        handler();
      } catch (error) {
        options.onFault(
          new TroupeError("internal", `A handler of the program's output failed: ${errorText(error)}`, {
            cause: error,
          }),
        );
      }
    };
    const limit = options.maxLineBytes ?? MAX_LINE_BYTES;
    const lines = new LineSplitter(limit, {
      line: (line) => guarded(() => deliver(line, options)),
      tooLong: () =>
        options.onFault(
          new TroupeError("protocol_error", `The program wrote a line of more than ${limit} bytes.`),
        ),
    });
    child.stdout.on("data", (chunk: Buffer) => lines.push(chunk));
    child.stdout.on("end", () => lines.end());
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      this.#stderr.push(text);
      guarded(() => options.onStderr(text));
    });
    // EPIPE and ECONNRESET only say that the program has gone, which its exit says better.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});

    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    child.once("error", (error) => {
      if (child.pid === undefined)
        this.#settle({ code: null, signal: null, stderr: "", error: startError(error, options) });
    });
    child.once("exit", (code, signal) => {
      void this.#afterExit(closed).then(() => this.#settle({ code, signal, stderr: this.stderr }));
    });
    if (child.pid !== undefined) trackGroup(child.pid);
  }

  /** Ends what the leader left behind, and reads what is still in the pipes. */
  async #afterExit(closed: Promise<void>): Promise<void> {
    const pid = this.pid;
    if (pid === undefined) return;
    if (process.platform !== "win32" && signalGroup(pid, "SIGTERM")) {
      await sleep(this.#clock, LEFTOVER_MS);
      signalGroup(pid, "SIGKILL");
    }
    await withinTime(this.#clock, PIPES_MS, closed);
    this.#release(pid);
  }

  #release(pid: number): void {
    forgetGroup(pid);
    this.#child?.stdin.destroy();
    this.#child?.stdout.destroy();
    this.#child?.stderr.destroy();
  }
}

function deliver(line: string, options: ProgramOptions): void {
  if (line.trim() === "") return;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    options.onGarbage(line);
    return;
  }
  options.onValue(value, line);
}

function start(options: ProgramOptions): ChildProcessWithoutNullStreams {
  const [file, ...args] = options.command;
  return spawn(file, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ["pipe", "pipe", "pipe"],
    detached: process.platform !== "win32",
    windowsHide: true,
  });
}

/** A working directory that is missing gives the same ENOENT as a missing program. */
function checkWorkspace(cwd: string): void {
  const stats = statSync(cwd, { throwIfNoEntry: false });
  if (!stats?.isDirectory())
    throw new TroupeError("invalid_input", `The workspace ${cwd} is not a directory.`);
}

function startError(error: unknown, options: ProgramOptions): TroupeError<RunErrorCode> {
  if (error instanceof TroupeError) return error as TroupeError<RunErrorCode>;
  const [file] = options.command;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") {
    return new TroupeError("program_missing", `The program ${file} was not found.`, { cause: error });
  }
  if (code === "EACCES" || code === "ENOEXEC") {
    return new TroupeError("program_missing", `The program ${file} may not be executed (${code}).`, {
      cause: error,
    });
  }
  if (code === "E2BIG") {
    return new TroupeError("invalid_input", `The arguments or the environment of ${file} are too long.`, {
      cause: error,
    });
  }
  return new TroupeError("internal", `The program ${file} could not be started: ${errorText(error)}`, {
    cause: error,
  });
}
