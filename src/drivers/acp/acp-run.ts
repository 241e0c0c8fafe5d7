import { type Clock, withinTime } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import type { DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { errorText, type RunErrorCode, TroupeError } from "../../core/errors.js";
import { startOf } from "../../core/text.js";
import { VERSION } from "../../version.js";
import { asObject, asText, type JsonObject } from "../process/json.js";
import { type McpBridge, openMcpBridge } from "../process/mcp-bridge.js";
import { Program, type ProgramExit, type ProgramPatience } from "../process/program.js";
import { createRedactor, type Redactor } from "../process/redactor.js";
import { RpcChannel } from "../process/rpc-channel.js";
import { secretsOf } from "../process/secrets.js";
import { EventMapper } from "./event-mapper.js";
import type { AcpOptions } from "./options.js";
import { type AgentTitle, outcomeOf, requestError } from "./outcome.js";
import { PermissionDesk } from "./permission-desk.js";
import { AGENT, CLIENT, VERSION_SPOKEN } from "./protocol.js";
import { type AgentFacts, choices, initializeParams, mcpServerParams, readAgent } from "./session.js";

const START_TIMEOUT_MS = 60_000;
const GRACE_MS = 5_000;
/** How long a cancelled agent may take to say how its turn ended. */
const CANCEL_MS = 1_000;
const CANCEL_PATIENCE: ProgramPatience = { inputMs: 1_000, terminateMs: 2_000 };
/** What the program still says is of no use. */
const FAULT_PATIENCE: ProgramPatience = { inputMs: 0, terminateMs: 2_000 };

/** Why the driver stops talking to the program. */
type Stop = "exited" | "cancelled" | "fault" | "done";

/** What one run is made of. */
export interface AcpRunSetup {
  /** The driver's name. */
  readonly name: string;
  readonly options: AcpOptions;
  readonly request: DriverRequest;
  readonly sink: DriverSink;
}

/** One run of the program, from its start to the end of its process group. */
export class AcpRun {
  readonly #setup: AcpRunSetup;
  readonly #clock: Clock;
  readonly #redact: Redactor;
  readonly #title: AgentTitle;
  readonly #program: Program;
  readonly #rpc: RpcChannel;
  readonly #desk: PermissionDesk;
  readonly #mapper: EventMapper;
  readonly #stopped: Promise<Stop>;
  readonly #bridges = new Map<string, McpBridge>();
  #stop: (reason: Stop) => void = () => {};
  #agent: AgentFacts = readAgent({});
  #session: string | undefined;
  /** Settles with the turn; only then are updates of this run's own turn. */
  #turn: Promise<unknown> | undefined;
  #answer: JsonObject | undefined;
  #fault: TroupeError<RunErrorCode> | undefined;
  #over = false;
  #garbage = 0;

  constructor(setup: AcpRunSetup) {
    const { options, request, sink } = setup;
    this.#setup = setup;
    this.#clock = request.clock;
    const env = { ...options.env, ...request.env };
    this.#redact = createRedactor(secretsOf({ mcpServers: request.mcpServers, env }));
    this.#title = {
      title: options.title ?? options.command,
      command: options.command,
      install: options.install ?? 'Install it, or set the driver\'s option "command" to its path.',
    };
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
    this.#mapper = new EventMapper({
      idPrefix: `${request.runId}-message`,
      servers: request.mcpServers,
      emit: (event) => sink.emit(event),
    });
    this.#rpc = new RpcChannel({
      version: "2.0",
      send: (message) => this.#program.send(message),
      onNotification: (method, params) => this.#notification(method, params),
      onRequest: (id, method, params) => this.#desk.request(id, method, params),
    });
    this.#desk = new PermissionDesk({
      calls: this.#mapper,
      servers: request.mcpServers,
      approve: (question, withdrawn) => sink.approve(question, withdrawn),
      emit: (event) => sink.emit(event),
      respond: (id, result) => this.#rpc.respond(id, result),
      refuse: (id, code, message) => this.#rpc.refuse(id, code, message),
    });
    this.#program = new Program({
      command: [options.command, ...(options.args ?? [])],
      cwd: request.workspace,
      env,
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
    const conversation = this.#converse().catch((error: unknown) => this.#fail(asFault(error)));
    const stop = await this.#stopped;
    const exit = await this.#end(stop);
    this.#over = true;
    signal.removeEventListener("abort", cancel);
    this.#rpc.close();
    this.#desk.close();
    this.#mapper.close();
    // Every step of it is over when the run is, so a bridge that it was opening is known by now.
    await conversation;
    await Promise.all([...this.#bridges.values()].map((bridge) => bridge.close()));
    // An error thrown by whoever takes the events is no outcome of the program.
    if (this.#fault?.code === "internal") throw this.#fault;
    return this.#conclude(stop === "cancelled", exit);
  }

  /** Introduces itself, opens the session and sends the prompt. */
  async #converse(): Promise<void> {
    const { options, request } = this.#setup;
    const initialized = await this.#step(AGENT.initialize, initializeParams(VERSION));
    if (initialized === undefined) return;
    this.#agent = readAgent(initialized);
    this.#mapper.agent = this.#agent.name;
    const { protocolVersion } = this.#agent;
    if (protocolVersion !== VERSION_SPOKEN) {
      const said = JSON.stringify(protocolVersion) ?? "none";
      const message = `${this.#title.title} speaks version ${startOf(said, 40)} of the Agent Client Protocol, and ${VERSION_SPOKEN} is needed.`;
      return this.#fail(new TroupeError("program_too_old", message));
    }
    const { authMethod } = options;
    if (authMethod !== undefined) {
      const answer = await this.#step(AGENT.authenticate, { methodId: authMethod });
      if (answer === undefined) return;
    }
    const session = await this.#open();
    if (session === undefined) return;
    this.#session = session;
    if (!(await this.#contacted())) return;
    if (request.signal.aborted) return;
    const prompt = [{ type: "text", text: request.prompt }];
    const turn = this.#rpc.request(AGENT.session_prompt, { sessionId: session, prompt });
    this.#turn = turn.then(
      (answer) => {
        this.#answer = answer;
        this.#mapper.answered(answer);
        this.#stop("done");
      },
      (error: unknown) => this.#refused(AGENT.session_prompt, error),
    );
  }

  /** Opens the run's session and chooses its mode and model. @returns its id; `undefined` when the run is over. */
  async #open(): Promise<string | undefined> {
    const { options, request } = this.#setup;
    const { resumeMethod } = this.#agent;
    const known = request.resume?.checkpoint.session;
    if (known !== undefined && resumeMethod === undefined) {
      const message = `${this.#title.title} cannot go on with an old session. Start a new thread.`;
      this.#fail(new TroupeError("capability_unsupported", message));
      return undefined;
    }
    if (request.persist && resumeMethod === undefined) {
      const message = `${this.#title.title} keeps no sessions: the next run of this thread starts over.`;
      this.#setup.sink.emit({ type: "notice", level: "warning", code: "thread_not_kept", message });
    }
    const params = { cwd: request.workspace, mcpServers: await this.#mcpServers() };
    const opened =
      known === undefined || resumeMethod === undefined
        ? await this.#step(AGENT.session_new, params)
        : await this.#step(resumeMethod, { ...params, sessionId: known });
    if (opened === undefined) return undefined;
    const session = known ?? asText(opened.sessionId);
    if (session === undefined) {
      const message = `${this.#title.title} opened a session without a name.`;
      this.#fail(new TroupeError("protocol_error", message));
      return undefined;
    }
    const { mode, model } = options;
    for (const { method, params: choice } of choices(opened, session, { mode, model }))
      if ((await this.#step(method, choice)) === undefined) return undefined;
    return session;
  }

  async #mcpServers(): Promise<JsonObject[]> {
    const { options, request } = this.#setup;
    const bridged = options.mcp === "bridge" || options.mcpContactMs !== undefined || !this.#agent.mcpHttp;
    return Promise.all(
      request.mcpServers.map(async (server) => {
        if (server.transport !== "http" || !bridged) return mcpServerParams(server, undefined);
        const bridge = await openMcpBridge(server);
        this.#bridges.set(server.name, bridge);
        return mcpServerParams(server, bridge.command);
      }),
    );
  }

  /** Some agents take servers and never speak to them; the run would go on without what it is for. */
  async #contacted(): Promise<boolean> {
    const limit = this.#setup.options.mcpContactMs;
    if (limit === undefined) return true;
    const needed = this.#setup.request.mcpServers.filter(({ trusted }) => trusted === true);
    const contacts = needed.flatMap(({ name }) => this.#bridges.get(name)?.contacted ?? []);
    const all = Promise.all(contacts).then(() => true);
    const first = await withinTime(this.#clock, limit, Promise.race([all, this.#stopped.then(() => false)]));
    if (first === undefined) {
      const message = `${this.#title.title} did not use the MCP servers of the run within ${limit / 1_000} s.`;
      this.#fail(new TroupeError("protocol_error", message));
    }
    return first === true;
  }

  /** One request of the start. @returns `undefined` when the run is over or was stopped by it. */
  async #step(method: string, params: JsonObject): Promise<JsonObject | undefined> {
    const limit = this.#setup.options.startTimeoutMs ?? START_TIMEOUT_MS;
    const answer = this.#rpc.request(method, params).catch((error: unknown) => {
      this.#refused(method, error);
      return "refused" as const;
    });
    const over = this.#stopped.then(() => "over" as const);
    const first = await withinTime(this.#clock, limit, Promise.race([answer, over]));
    if (first === undefined) {
      const message = `${this.#title.title} did not answer ${method} within ${limit / 1_000} s.`;
      this.#fail(new TroupeError("protocol_error", message, { retryable: true }));
    }
    return typeof first === "object" ? first : undefined;
  }

  async #end(stop: Stop): Promise<ProgramExit> {
    if (stop === "cancelled" && this.#turn !== undefined) {
      this.#rpc.notify(AGENT.session_cancel, { sessionId: this.#session });
      this.#desk.close();
      await withinTime(this.#clock, CANCEL_MS, Promise.race([this.#turn, this.#program.exited]));
    }
    if (stop === "done") return this.#program.end({ inputMs: this.#setup.options.graceMs ?? GRACE_MS });
    return this.#program.end(stop === "fault" ? FAULT_PATIENCE : CANCEL_PATIENCE);
  }

  #conclude(cancelled: boolean, exit: ProgramExit): DriverOutcome {
    const { name, request } = this.#setup;
    const { workspace, persist } = request;
    const session = this.#session;
    const kept = session !== undefined && persist && this.#agent.resumeMethod !== undefined;
    return outcomeOf({
      agent: this.#title,
      cancelled,
      exit,
      redact: this.#redact,
      ...defined({ fault: this.#fault, answer: this.#answer }),
      ...(kept ? { checkpoint: { driver: name, workspace, session } } : {}),
    });
  }

  #value(value: unknown, line: string): void {
    this.#setup.sink.raw("stdout", `${this.#redact(line)}\n`);
    if (!this.#over) this.#rpc.message(value);
  }

  #notification(method: string, params: JsonObject): void {
    // Before the prompt an agent that loads a session repeats the old one; a subagent has a session of its own.
    if (method !== CLIENT.session_update || this.#turn === undefined) return;
    if (params.sessionId === this.#session) this.#mapper.update(asObject(params.update));
  }

  #unreadable(line: string): void {
    const words = this.#redact(line);
    this.#setup.sink.raw("stdout", `${words}\n`);
    this.#garbage += 1;
    if (this.#garbage > 1) return;
    const message = `${this.#title.title} wrote a line that is not JSON; it is ignored: ${startOf(words, 200)}`;
    this.#setup.sink.emit({ type: "notice", level: "warning", code: "unreadable_output", message });
  }

  #refused(method: string, error: unknown): void {
    this.#fail(requestError(this.#title, method, error, this.#redact, this.#agent.authMethods));
  }

  #fail(error: TroupeError<RunErrorCode>): void {
    this.#fault ??= error;
    this.#stop("fault");
  }
}

function asFault(error: unknown): TroupeError<RunErrorCode> {
  if (error instanceof TroupeError) return error as TroupeError<RunErrorCode>;
  return new TroupeError("internal", errorText(error), { cause: error });
}
