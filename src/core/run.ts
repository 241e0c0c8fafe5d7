import type { ApprovalDecision } from "./approval.js";
import { type ApprovalOptions, Approvals } from "./approvals.js";
import { type Clock, withinTime } from "./clock.js";
import { defined } from "./defined.js";
import type { Driver, DriverOutcome, DriverRequest, DriverSink } from "./driver.js";
import { programEnvironment } from "./environment.js";
import { errorText, type RunErrorCode, TroupeError } from "./errors.js";
import { EventQueue } from "./event-queue.js";
import type { CreateId } from "./ids.js";
import { expandRunVariables, type McpServer } from "./mcp-server.js";
import { RawOutput } from "./raw-output.js";
import type { DriverEvent, RunEvent, Usage, UserMessage } from "./run-event.js";
import { RunGrammar } from "./run-grammar.js";
import type { RunAttachment, RunContext, RunService } from "./run-service.js";
import type { ThreadCheckpoint, ThreadMode, ThreadStore } from "./thread.js";
import { Transcript, type TranscriptItem } from "./transcript.js";

/** What a run left behind. Its layers stay apart: nothing of a remote agent's wire is in `raw`, no artifact in `text`. */
export interface RunResult {
  readonly runId: string;
  /** All that the agent said. */
  readonly text: string;
  /** Its closing message. */
  readonly summary: string;
  readonly transcript: readonly TranscriptItem[];
  /** The program's own output, last 1 MiB a stream, and its terminal message. */
  readonly raw: { readonly stdout: string; readonly stderr: string; readonly terminal?: unknown };
  readonly usage?: Usage;
  /** Milliseconds. */
  readonly durationMs: number;
}

/** A run that failed or was cancelled (`code` `cancelled`). `result` is what it had produced by then. */
export class RunError extends TroupeError<RunErrorCode> {
  constructor(
    error: TroupeError<RunErrorCode>,
    readonly result: RunResult,
  ) {
    super(error.code, error.message, { retryable: error.retryable, cause: error.cause });
    this.name = "RunError";
  }
}

/** Everything that one run needs; made by `createAgent`. */
export interface RunSetup {
  readonly runId: string;
  readonly token: string;
  readonly agent: string;
  readonly driver: Driver;
  readonly messages: readonly UserMessage[];
  readonly prompt: string;
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mcpServers: readonly McpServer[];
  readonly services: readonly RunService[];
  readonly thread?: {
    readonly key: string;
    readonly mode: ThreadMode;
    readonly store: ThreadStore;
    /** Whose conversation is forked; the thread's own by default. */
    readonly from?: string;
  };
  /** What was said before, for a program that has no conversation to go on from. */
  readonly history?: string;
  readonly approvals: ApprovalOptions;
  readonly clock: Clock;
  readonly createId: CreateId;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: RunEvent) => void;
}

/** Bound of a service's part in the end of a run, in milliseconds; a service has shorter bounds of its own. */
const DETACH_LIMIT = 60_000;

/** One execution of an agent. It starts by itself, and ends in exactly one terminal event. */
export class Run {
  readonly id: string;
  /** Resolves when the run finished; rejects with a {@link RunError} otherwise. Not handling it is allowed. */
  readonly result: Promise<RunResult>;
  readonly #setup: RunSetup;
  readonly #abort = new AbortController();
  readonly #queue = new EventQueue<RunEvent>();
  readonly #grammar = new RunGrammar();
  readonly #transcript = new Transcript();
  readonly #output = { stdout: new RawOutput(), stderr: new RawOutput() };
  readonly #approvals: Approvals;
  readonly #attachments: RunAttachment[] = [];
  readonly #startedAt: number;
  #usage: Usage | undefined;
  #ended = false;

  constructor(setup: RunSetup) {
    this.#setup = setup;
    this.id = setup.runId;
    this.#startedAt = setup.clock.now();
    this.#approvals = new Approvals(setup.approvals, setup.clock, setup.createId, (event) =>
      this.#emit(event),
    );
    // A microtask later, so that whoever made the run can keep it before its first event arrives.
    this.result = Promise.resolve().then(() => this.#execute());
    this.result.catch(() => undefined);
    const { signal } = setup;
    const onAbort = () => this.#requestCancel("aborted");
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    // A caller's signal may outlive many runs.
    void this.result.catch(() => undefined).then(() => signal?.removeEventListener("abort", onAbort));
  }

  /** Every event in order, once; from the start if it is read in time. Empty when the run was made with `onEvent`. */
  get events(): AsyncIterable<RunEvent> {
    return this.#queue;
  }

  /** Asks the run to stop. Resolves when its process is gone and its terminal event was emitted; repeated calls join. */
  async cancel(reason = "user"): Promise<void> {
    this.#requestCancel(reason);
    await this.result.catch(() => undefined);
  }

  /**
   * Answers an open approval.
   * @returns `false` when there is none of that id, or it is decided already.
   */
  decide(approvalId: string, decision: ApprovalDecision): boolean {
    return this.#approvals.decide(approvalId, decision);
  }

  #requestCancel(reason: string): void {
    if (this.#abort.signal.aborted || this.#ended) return;
    this.#abort.abort(reason);
    for (const attachment of this.#attachments) attachment.cancel?.(reason);
  }

  async #execute(): Promise<RunResult> {
    const { agent, messages } = this.#setup;
    this.#emit({ type: "run.started", agent, messages });
    let outcome: DriverOutcome;
    try {
      outcome = await this.#drive();
    } catch (error) {
      outcome = { status: "failed", error: asRunError(error) };
    }
    if (this.#abort.signal.aborted) outcome = { ...outcome, status: "cancelled" };
    this.#approvals.close();
    await this.#detach(outcome.status);
    const result = this.#result(outcome);
    const failure = await this.#conclude(outcome);
    for (const event of this.#grammar.close()) this.#emit(event);
    this.#ended = true;
    const usage = this.#usage === undefined ? {} : { usage: this.#usage };
    if (failure === undefined) this.#emit({ type: "run.finished", text: result.summary, ...usage });
    else if (failure.code === "cancelled") this.#emit({ type: "run.cancelled", reason: failure.message });
    else {
      const { code, message, retryable } = failure;
      this.#emit({ type: "run.failed", error: { code, message, retryable }, ...usage });
    }
    this.#queue.close();
    if (failure === undefined) return result;
    throw new RunError(failure, result);
  }

  async #drive(): Promise<DriverOutcome> {
    const setup = this.#setup;
    const { runId, token, agent, workspace, metadata } = setup;
    const thread = setup.thread?.key;
    const context = { runId, token, agent, workspace, ...defined({ thread, metadata }) };
    for (const service of setup.services) {
      if (this.#abort.signal.aborted) break;
      await this.#attach(service, context);
    }
    if (this.#abort.signal.aborted) return { status: "cancelled" };
    const mcpServers = [
      ...setup.mcpServers,
      ...this.#attachments.flatMap((attachment) => attachment.mcpServers ?? []),
    ];
    requireCapabilities(setup, mcpServers);
    const description = setup.driver.describe();
    const extra = Object.assign(
      {},
      setup.env,
      ...this.#attachments.map((attachment) => attachment.env ?? {}),
    );
    const resume = await this.#untilCancelled(this.#resumePoint(description.name));
    if (this.#abort.signal.aborted) return { status: "cancelled" };
    const request: DriverRequest = {
      runId,
      prompt:
        resume === undefined && setup.history !== undefined
          ? `${setup.history}\n\n${setup.prompt}`
          : setup.prompt,
      workspace,
      env: programEnvironment(process.env, description.environment ?? [], extra),
      mcpServers: mcpServers.map((server) => expandRunVariables(server, { RUN_ID: runId, RUN_TOKEN: token })),
      persist: setup.thread !== undefined,
      signal: this.#abort.signal,
      clock: setup.clock,
      ...defined({ resume }),
    };
    return setup.driver.start(request, this.#sink());
  }

  /** A service that does not answer must not keep a cancelled run; what it attaches too late is detached again. */
  async #attach(service: RunService, context: RunContext): Promise<void> {
    const attaching = service.attach(context);
    const attachment = await this.#untilCancelled(attaching);
    if (attachment !== undefined) this.#attachments.push(attachment);
    else void attaching.then((late) => late.detach("cancelled")).catch(() => undefined);
  }

  /** Waits for `promise`, but no longer than until the run is cancelled: then `undefined`. */
  #untilCancelled<T>(promise: Promise<T>): Promise<T | undefined> {
    const { signal } = this.#abort;
    if (signal.aborted) {
      promise.catch(() => undefined);
      return Promise.resolve(undefined);
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => resolve(undefined);
      signal.addEventListener("abort", onAbort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    });
  }

  #sink(): DriverSink {
    return {
      emit: (event) => this.#accept(event),
      approve: (question, withdrawn) => this.#approvals.ask(question, withdrawn),
      raw: (stream, text) => this.#output[stream].add(text),
    };
  }

  #accept(event: DriverEvent): void {
    if (this.#ended || !this.#grammar.accept(event)) return;
    if (event.type === "usage") this.#usage = event.usage;
    this.#emit(event);
  }

  #emit(event: RunEvent): void {
    this.#transcript.observe(event);
    if (this.#setup.onEvent) this.#setup.onEvent(event);
    else this.#queue.push(event);
    for (const attachment of this.#attachments) attachment.observe?.(event);
  }

  async #resumePoint(driver: string): Promise<DriverRequest["resume"]> {
    const thread = this.#setup.thread;
    if (thread === undefined || thread.mode === "new") return undefined;
    const key = thread.from ?? thread.key;
    const checkpoint = await thread.store.get(key);
    const usable = checkpoint?.driver === driver && checkpoint.workspace === this.#setup.workspace;
    if (checkpoint && usable) return { checkpoint, fork: thread.mode === "fork" };
    if (thread.mode === "continue") return undefined;
    throw new TroupeError(
      "resume_failed",
      `Thread ${key} has no finished run of ${driver} in this workspace to go on from.`,
    );
  }

  async #detach(outcome: DriverOutcome["status"]): Promise<void> {
    const detaching = this.#attachments.map(async (attachment) => attachment.detach(outcome));
    await withinTime(this.#setup.clock, DETACH_LIMIT, Promise.allSettled(detaching));
  }

  /** Commits what a clean end earns. @returns the error that the run ends with, if any. */
  async #conclude(outcome: DriverOutcome): Promise<TroupeError<RunErrorCode> | undefined> {
    if (outcome.status === "cancelled")
      return new TroupeError("cancelled", String(this.#abort.signal.reason ?? "The agent was interrupted."));
    if (outcome.status === "failed")
      return outcome.error ?? new TroupeError("internal", "The agent failed without saying why.");
    const thread = this.#setup.thread;
    if (thread === undefined || outcome.checkpoint === undefined) return undefined;
    const checkpoint: ThreadCheckpoint = outcome.checkpoint;
    try {
      await thread.store.set(thread.key, checkpoint);
    } catch (error) {
      this.#emit({ type: "notice", level: "warning", code: "thread_not_saved", message: errorText(error) });
    }
    return undefined;
  }

  #result(outcome: DriverOutcome): RunResult {
    const usage = outcome.usage ?? this.#usage;
    this.#usage = usage;
    return {
      runId: this.id,
      text: this.#transcript.text(),
      summary: outcome.text ?? this.#transcript.lastText(),
      transcript: this.#transcript.items(),
      raw: {
        stdout: this.#output.stdout.toString(),
        stderr: this.#output.stderr.toString(),
        ...defined({ terminal: outcome.terminal }),
      },
      ...defined({ usage }),
      durationMs: this.#setup.clock.now() - this.#startedAt,
    };
  }
}

function requireCapabilities({ driver, thread, approvals }: RunSetup, servers: readonly McpServer[]): void {
  const mode = thread?.mode;
  const { name, capabilities } = driver.describe();
  const refuse = (what: string) => {
    throw new TroupeError("capability_unsupported", `The ${name} driver cannot ${what}.`);
  };
  if (!capabilities.mcpHttp && servers.some(({ transport }) => transport === "http"))
    refuse("use MCP servers over HTTP");
  if (!capabilities.mcpStdio && servers.some(({ transport }) => transport === "stdio"))
    refuse("use MCP servers over stdio");
  if (!capabilities.resume && mode === "resume") refuse("resume a thread");
  if (!capabilities.fork && mode === "fork") refuse("fork a thread");
  if (thread?.from !== undefined && mode !== "fork")
    throw new TroupeError("invalid_input", "Only a fork begins with the conversation of another thread.");
  if (!capabilities.approvals && approvals.required === true)
    refuse("ask before it does something: only permissions that allow everything fit it");
  if (!capabilities.approvals && approvals.handler)
    refuse("ask for approvals, so onApproval would never be called");
  const names = servers.map((server) => server.name);
  const twice = names.find((server, index) => names.indexOf(server) !== index);
  if (twice !== undefined) throw new TroupeError("invalid_input", `Two MCP servers are named "${twice}".`);
}

function asRunError(error: unknown): TroupeError<RunErrorCode> {
  if (error instanceof TroupeError) return error as TroupeError<RunErrorCode>;
  return new TroupeError("internal", errorText(error), { cause: error });
}
