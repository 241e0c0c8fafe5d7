import { type Clock, withinTime } from "../../core/clock.js";
import type { DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { asNumber, asObject, asText, type JsonObject } from "../process/json.js";
import { Program, type ProgramExit, type ProgramPatience } from "../process/program.js";
import { createRedactor, type Redactor } from "../process/redactor.js";
import { secretsOf } from "../process/secrets.js";
import { ControlChannel } from "./control-channel.js";
import { EventMapper } from "./event-mapper.js";
import { claudeCommand, claudeEnvironment, initializeRequest } from "./launch.js";
import type { ClaudeOptions } from "./options.js";
import { meansNotAuthenticated, notAuthenticated, outcomeOf, tooOld } from "./outcome.js";
import { TurnWatch } from "./turn-watch.js";
import { UsageCounter } from "./usage.js";

const START_TIMEOUT_MS = 60_000;
const GRACE_MS = 5_000;
/** How long an interrupted program may take to say how its turn ended. */
const INTERRUPT_MS = 1_000;
const CANCEL_PATIENCE: ProgramPatience = { inputMs: 1_000, terminateMs: 2_000 };
/** What the program still says is of no use. */
const FAULT_PATIENCE: ProgramPatience = { inputMs: 0, terminateMs: 2_000 };
/** The program repeats a refused login for minutes; the second refusal is believed. */
const BELIEVED_REFUSAL = 2;

/** Why the driver stops talking to the program. */
type Stop = "exited" | "cancelled" | "fault" | "done";

/** What one run is made of. */
export interface ClaudeRunSetup {
  readonly options: ClaudeOptions;
  readonly request: DriverRequest;
  readonly sink: DriverSink;
  /** The id of the session when a new one is begun. */
  readonly newSession: string;
  /** An own directory for scratch files. */
  readonly temporary: string;
}

/** One run of the program, from its start to the end of its process group. */
export class ClaudeRun {
  readonly #setup: ClaudeRunSetup;
  readonly #clock: Clock;
  readonly #redact: Redactor;
  readonly #program: Program;
  readonly #control: ControlChannel;
  readonly #mapper: EventMapper;
  readonly #turns: TurnWatch;
  readonly #stopped: Promise<Stop>;
  #stop: (reason: Stop) => void = () => {};
  #onResult: () => void = () => {};
  readonly #usage = new UsageCounter();
  #result: JsonObject | undefined;
  #session: string | undefined;
  #fault: TroupeError<RunErrorCode> | undefined;
  #garbage = 0;

  constructor(setup: ClaudeRunSetup) {
    const { options, request, sink } = setup;
    this.#setup = setup;
    this.#clock = request.clock;
    this.#redact = createRedactor(secretsOf(request));
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
    this.#mapper = new EventMapper({
      servers: request.mcpServers.map((server) => server.name),
      idPrefix: `${request.runId}-message`,
      emit: (event) => sink.emit(event),
    });
    this.#turns = new TurnWatch(request.clock, options.graceMs ?? GRACE_MS, () => this.#stop("done"));
    this.#control = new ControlChannel({
      send: (frame) => this.#program.send(frame),
      approve: (question, withdrawn) => sink.approve(question, withdrawn),
    });
    this.#program = new Program({
      command: claudeCommand(options, request, setup.newSession),
      cwd: request.workspace,
      env: claudeEnvironment(options, request.env, setup.temporary),
      clock: request.clock,
      onValue: (value, line) => this.#frame(value, line),
      onGarbage: (line) => this.#unreadable(line),
      onStderr: (text) => sink.raw("stderr", this.#redact(text)),
      onFault: (error) => this.#fail(error),
    });
  }

  /** Runs to the end. */
  async outcome(): Promise<DriverOutcome> {
    const { signal } = this.#setup.request;
    const cancel = () => this.#stop("cancelled");
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    void this.#program.exited.then(() => this.#stop("exited"));
    const stop = await this.#converse();
    this.#turns.close();
    const exit = await this.#end(stop);
    signal.removeEventListener("abort", cancel);
    this.#control.close();
    this.#mapper.close();
    // An error thrown by whoever takes the events is no outcome of the program.
    if (this.#fault?.code === "internal") throw this.#fault;
    return this.#conclude(stop === "cancelled", exit);
  }

  /** Introduces the servers, sends the prompt, and waits until there is nothing more to wait for. */
  async #converse(): Promise<Stop> {
    const { options, request } = this.#setup;
    const limit = options.startTimeoutMs ?? START_TIMEOUT_MS;
    const ready = this.#control.request(initializeRequest(request.mcpServers)).then(
      (response) => response,
      (error: unknown) => this.#fail(error as TroupeError<RunErrorCode>),
    );
    const first = await withinTime(this.#clock, limit, Promise.race([ready, this.#stopped]));
    if (typeof first === "string") return first;
    if (first === undefined) {
      const message = `Claude Code did not answer within ${limit / 1_000} s after its start.`;
      this.#fail(new TroupeError("protocol_error", message, { retryable: true }));
      return this.#stopped;
    }
    if (request.mcpServers.length > 0 && first.mcp_servers_applied !== true) {
      const version = asText(first.claude_code_version) ?? "this version";
      this.#fail(tooOld(this.#executable, `${version} does not take MCP servers over its control protocol`));
      return this.#stopped;
    }
    const content = [{ type: "text", text: request.prompt }];
    this.#turns.prompted();
    this.#program.send({ type: "user", message: { role: "user", content } });
    return this.#stopped;
  }

  async #end(stop: Stop): Promise<ProgramExit> {
    if (stop === "done") return this.#program.end({ inputMs: this.#setup.options.graceMs ?? GRACE_MS });
    if (stop === "cancelled" && this.#turns.working) {
      const told = new Promise<void>((resolve) => {
        this.#onResult = resolve;
      });
      // A refused interrupt is followed by the end of its input anyway.
      this.#control.request({ subtype: "interrupt" }).catch(() => {});
      await withinTime(this.#clock, INTERRUPT_MS, Promise.race([told, this.#program.exited]));
    }
    return this.#program.end(stop === "fault" ? FAULT_PATIENCE : CANCEL_PATIENCE);
  }

  #conclude(cancelled: boolean, exit: ProgramExit): DriverOutcome {
    const { request } = this.#setup;
    const session = this.#session;
    const usage = this.#usage.total;
    return outcomeOf({
      executable: this.#executable,
      cancelled,
      exit,
      redact: this.#redact,
      ...(this.#fault && { fault: this.#fault }),
      ...(this.#result && { result: this.#result }),
      ...(usage && { usage }),
      ...(request.resume && { resumed: request.resume.checkpoint.session }),
      ...(session !== undefined && request.persist
        ? { checkpoint: { driver: "claude", workspace: request.workspace, session } }
        : {}),
    });
  }

  #frame(value: unknown, line: string): void {
    this.#setup.sink.raw("stdout", `${this.#redact(line)}\n`);
    if (this.#control.frame(value)) return;
    const frame = asObject(value);
    if (frame.type === "system" && frame.subtype === "api_retry") this.#checkLogin(frame);
    // Frames of native subagents bear the same id; hooks and others may bear none.
    this.#session = asText(frame.session_id) ?? this.#session;
    this.#mapper.frame(frame);
    if (frame.type === "result") {
      this.#result = frame;
      const usage = this.#usage.add(frame);
      if (usage) this.#setup.sink.emit({ type: "usage", usage });
      this.#onResult();
    }
    this.#turns.frame(frame);
  }

  #checkLogin(frame: JsonObject): void {
    const refused = meansNotAuthenticated({ status: frame.error_status, error: frame.error });
    if (!refused || (asNumber(frame.attempt) ?? 0) < BELIEVED_REFUSAL) return;
    this.#fail(notAuthenticated(this.#executable, "the API refused the credential"));
  }

  #unreadable(line: string): void {
    this.#setup.sink.raw("stdout", `${this.#redact(line)}\n`);
    this.#garbage += 1;
    if (this.#garbage > 1) return;
    const message = `Claude Code wrote a line that is not JSON; it is ignored: ${this.#redact(line).slice(0, 200)}`;
    this.#setup.sink.emit({ type: "notice", level: "warning", code: "unreadable_output", message });
  }

  #fail(error: TroupeError<RunErrorCode>): undefined {
    this.#fault ??= error;
    this.#stop("fault");
    return undefined;
  }

  get #executable(): string {
    const { executable } = this.#setup.options;
    return typeof executable === "string" ? executable : (executable?.[0] ?? "claude");
  }
}
