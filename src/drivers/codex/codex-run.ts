import { type Clock, type Timer, withinTime } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import type { DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { startOf } from "../../core/text.js";
import { VERSION } from "../../version.js";
import { asObject, asText, type JsonObject } from "../process/json.js";
import { Program, type ProgramExit, type ProgramPatience } from "../process/program.js";
import { createRedactor, type Redactor } from "../process/redactor.js";
import { RpcChannel } from "../process/rpc-channel.js";
import { EventMapper } from "./event-mapper.js";
import { codexCommand, codexSecrets, initializeParams, lacksLogin, openThread } from "./launch.js";
import type { CodexOptions } from "./options.js";
import { notAuthenticated, openError, outcomeOf, refusesLogin, tooOld } from "./outcome.js";
import { isOlder, LEAST_VERSION, versionOf } from "./protocol.js";
import { QuestionDesk } from "./question-desk.js";
import { TurnFence } from "./turn-fence.js";

const START_TIMEOUT_MS = 60_000;
const GRACE_MS = 5_000;
/** How long an interrupted program may take to say how its turn ended. */
const INTERRUPT_MS = 1_000;
/** The program's own limit of a call of an MCP tool. */
const CALL_TIMEOUT_MS = 300_000;
const CANCEL_PATIENCE: ProgramPatience = { inputMs: 1_000, terminateMs: 2_000 };
/** What the program still says is of no use. */
const FAULT_PATIENCE: ProgramPatience = { inputMs: 0, terminateMs: 2_000 };
/** The second refusal of a login is believed; more only wait longer. */
const BELIEVED_REFUSAL = 2;

/** Why the driver stops talking to the program. */
type Stop = "exited" | "cancelled" | "fault" | "done";

/** What one run is made of. */
export interface CodexRunSetup {
  readonly options: CodexOptions;
  readonly request: DriverRequest;
  readonly sink: DriverSink;
}

/** One run of the program, from its start to the end of its process group. */
export class CodexRun {
  readonly #setup: CodexRunSetup;
  readonly #clock: Clock;
  readonly #redact: Redactor;
  readonly #program: Program;
  readonly #rpc: RpcChannel;
  readonly #desk: QuestionDesk;
  readonly #fence: TurnFence;
  readonly #mapper: EventMapper;
  readonly #stopped: Promise<Stop>;
  readonly #watchers = new Set<() => void>();
  #stop: (reason: Stop) => void = () => {};
  #thread: string | undefined;
  #prompted = false;
  /** The turn that works now. */
  #working: string | undefined;
  /** The last turn that is over. */
  #turn: JsonObject | undefined;
  #lateCalls: Timer | undefined;
  #fault: TroupeError<RunErrorCode> | undefined;
  #refusals = 0;
  #garbage = 0;

  constructor(setup: CodexRunSetup) {
    const { options, request, sink } = setup;
    this.#setup = setup;
    this.#clock = request.clock;
    this.#redact = createRedactor(codexSecrets(options, request));
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
    this.#mapper = new EventMapper({
      idPrefix: `${request.runId}-message`,
      emit: (event) => sink.emit(event),
    });
    this.#fence = new TurnFence((method, params) => this.#notification(method, params));
    this.#rpc = new RpcChannel({
      send: (message) => this.#program.send(message),
      onNotification: (method, params) => this.#fence.notification(method, params),
      onRequest: (id, method, params) => this.#desk.request(id, method, params),
    });
    this.#desk = new QuestionDesk({
      calls: this.#mapper,
      approve: (question, withdrawn) => sink.approve(question, withdrawn),
      emit: (event) => sink.emit(event),
      respond: (id, result) => this.#rpc.respond(id, result),
      refuse: (id, code, message) => this.#rpc.refuse(id, code, message),
    });
    this.#program = new Program({
      command: codexCommand(options),
      cwd: request.workspace,
      env: { ...options.env, ...request.env },
      clock: request.clock,
      onValue: (value, line) => this.#value(value, line),
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
    void this.#converse();
    const stop = await this.#stopped;
    this.#lateCalls?.cancel();
    const exit = await this.#end(stop);
    signal.removeEventListener("abort", cancel);
    this.#rpc.close();
    this.#desk.close();
    this.#mapper.close();
    // An error thrown by whoever takes the events is no outcome of the program.
    if (this.#fault?.code === "internal") throw this.#fault;
    return this.#conclude(stop === "cancelled", exit);
  }

  /** Introduces itself, opens the thread and sends the prompt. */
  async #converse(): Promise<void> {
    const { options, request } = this.#setup;
    const initialized = await this.#step("initialize", initializeParams(VERSION));
    if (initialized === undefined) return;
    const version = versionOf(initialized);
    if (version === undefined || isOlder(version, LEAST_VERSION)) {
      const found = version === undefined ? "it does not tell its version" : `it is ${version}`;
      this.#fail(tooOld(this.#executable, `${found}, and ${LEAST_VERSION} is needed`));
      return;
    }
    this.#rpc.notify("initialized");
    if (await this.#isLoggedOut()) {
      this.#fail(notAuthenticated(this.#executable, "it has no account"));
      return;
    }
    const { method, params } = openThread(options, request);
    const opened = await this.#step(method, params);
    if (opened === undefined) return;
    const threadId = asText(asObject(opened.thread).id);
    if (threadId === undefined) {
      this.#fail(new TroupeError("protocol_error", "Codex opened a conversation without a name."));
      return;
    }
    this.#thread = threadId;
    this.#fence.openThread(threadId);
    if (request.signal.aborted) return;
    this.#prompted = true;
    const input = [{ type: "text", text: request.prompt, text_elements: [] }];
    const begun = await this.#step("turn/start", { threadId, input });
    const turn = asText(asObject(begun?.turn).id);
    if (turn !== undefined) this.#fence.openTurn(turn);
    else if (begun !== undefined)
      this.#fail(new TroupeError("protocol_error", "Codex began a turn without a name."));
  }

  /** Without a login it would ask the API in vain, many times. A program that does not tell is believed to have one. */
  async #isLoggedOut(): Promise<boolean> {
    const { options, request } = this.#setup;
    const answer = this.#rpc.request("account/read", {}).catch((): JsonObject => ({}));
    const limit = options.startTimeoutMs ?? START_TIMEOUT_MS;
    const over = this.#stopped.then((): JsonObject => ({}));
    const account = await withinTime(this.#clock, limit, Promise.race([answer, over]));
    return lacksLogin(account ?? {}, options, { ...options.env, ...request.env });
  }

  /** One request of the start. @returns `undefined` when the run is over or was stopped by it. */
  async #step(method: string, params: JsonObject): Promise<JsonObject | undefined> {
    const limit = this.#setup.options.startTimeoutMs ?? START_TIMEOUT_MS;
    const answer = this.#rpc.request(method, params).catch((error: unknown) => {
      const resumed = method === "turn/start" ? undefined : this.#setup.request.resume?.checkpoint.session;
      this.#fail(openError(this.#executable, error, this.#redact, resumed));
      return "refused" as const;
    });
    const over = this.#stopped.then(() => "over" as const);
    const first = await withinTime(this.#clock, limit, Promise.race([answer, over]));
    if (first === undefined) {
      const message = `Codex did not answer ${method} within ${limit / 1_000} s.`;
      this.#fail(new TroupeError("protocol_error", message, { retryable: true }));
    }
    return typeof first === "object" ? first : undefined;
  }

  async #end(stop: Stop): Promise<ProgramExit> {
    if (stop === "cancelled" && this.#prompted)
      await withinTime(this.#clock, INTERRUPT_MS, Promise.race([this.#interrupt(), this.#program.exited]));
    if (stop === "done") {
      const cleaned = Promise.race([this.#cleanTerminals(), this.#program.exited]);
      await withinTime(this.#clock, INTERRUPT_MS, cleaned);
      return this.#program.end({ inputMs: this.#setup.options.graceMs ?? GRACE_MS });
    }
    return this.#program.end(stop === "fault" ? FAULT_PATIENCE : CANCEL_PATIENCE);
  }

  /** Before `turn/started` the program refuses an interrupt, and the turn goes on. */
  async #interrupt(): Promise<void> {
    await this.#until(() => this.#working !== undefined || this.#turn !== undefined);
    if (this.#working !== undefined) {
      // A refused interrupt is followed by the end of its input anyway.
      this.#rpc.request("turn/interrupt", this.#ids(this.#working)).catch(() => {});
      await this.#until(() => this.#working === undefined);
    }
    await this.#cleanTerminals();
  }

  /** An interrupt leaves shells running, and a model may leave some behind; their last output comes with their end. */
  async #cleanTerminals(): Promise<void> {
    const ended = () => this.#mapper.open("commandExecution").every((call) => this.#desk.isHeld(call));
    if (this.#thread === undefined || ended()) return;
    this.#rpc.request("thread/backgroundTerminals/clean", { threadId: this.#thread }).catch(() => {});
    await this.#until(ended);
  }

  #ids(turnId: string): JsonObject {
    return { threadId: this.#thread, turnId };
  }

  /** Resolves when `holds`, looked at after each notification. */
  #until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => {
      const watcher = () => {
        if (!holds()) return;
        this.#watchers.delete(watcher);
        resolve();
      };
      this.#watchers.add(watcher);
    });
  }

  #conclude(cancelled: boolean, exit: ProgramExit): DriverOutcome {
    const { workspace, persist } = this.#setup.request;
    const session = this.#thread;
    return outcomeOf({
      executable: this.#executable,
      cancelled,
      exit,
      redact: this.#redact,
      ...defined({ fault: this.#fault, turn: this.#turn, text: this.#mapper.lastText }),
      ...(session !== undefined && persist ? { checkpoint: { driver: "codex", workspace, session } } : {}),
    });
  }

  #value(value: unknown, line: string): void {
    this.#setup.sink.raw("stdout", `${this.#redact(line)}\n`);
    this.#rpc.message(value);
  }

  #notification(method: string, params: JsonObject): void {
    if (method === "serverRequest/resolved") this.#desk.resolved(params.requestId);
    else if (method === "turn/started") this.#turnStarted(asText(asObject(params.turn).id));
    else {
      this.#mapper.notification(method, params);
      if (method === "error") this.#checkLogin(params);
      if (method === "turn/completed") this.#turnCompleted(asObject(params.turn));
      else if (method === "item/completed") this.#checkDone();
    }
    for (const watcher of [...this.#watchers]) watcher();
  }

  #turnStarted(turn: string | undefined): void {
    this.#working = turn;
    this.#lateCalls?.cancel();
  }

  #turnCompleted(turn: JsonObject): void {
    this.#working = undefined;
    this.#turn = turn;
    this.#checkDone();
    if (this.#mapper.open("mcpToolCall").length === 0) return;
    this.#lateCalls?.cancel();
    this.#lateCalls = this.#clock.timer(this.#lateCallLimit(), () => this.#stop("done"));
  }

  /** In code mode a turn may end while a tool that it called still works. What is open after another end stays without a result. */
  #checkDone(): void {
    if (this.#turn === undefined || this.#working !== undefined) return;
    if (this.#turn.status !== "completed" || this.#mapper.open("mcpToolCall").length === 0)
      this.#stop("done");
  }

  #lateCallLimit(): number {
    const limits = this.#setup.request.mcpServers.map(({ timeoutMs }) => timeoutMs ?? CALL_TIMEOUT_MS);
    return Math.max(CALL_TIMEOUT_MS, ...limits) + GRACE_MS;
  }

  #checkLogin({ error, willRetry }: JsonObject): void {
    if (willRetry !== true || !refusesLogin(asObject(error))) return;
    this.#refusals += 1;
    if (this.#refusals >= BELIEVED_REFUSAL)
      this.#fail(notAuthenticated(this.#executable, "the API refused the credential"));
  }

  #unreadable(line: string): void {
    const words = this.#redact(line);
    this.#setup.sink.raw("stdout", `${words}\n`);
    this.#garbage += 1;
    if (this.#garbage > 1) return;
    const message = `Codex wrote a line that is not JSON; it is ignored: ${startOf(words, 200)}`;
    this.#setup.sink.emit({ type: "notice", level: "warning", code: "unreadable_output", message });
  }

  #fail(error: TroupeError<RunErrorCode>): void {
    this.#fault ??= error;
    this.#stop("fault");
  }

  get #executable(): string {
    const { executable } = this.#setup.options;
    return typeof executable === "string" ? executable : (executable?.[0] ?? "codex");
  }
}
