import { statSync } from "node:fs";
import { defined } from "../../core/defined.js";
import type { DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import type { McpHttpServer, McpServer } from "../../core/mcp-server.js";
import { startOf } from "../../core/text.js";
import { asObject, asText, type JsonObject } from "../process/json.js";
import { type McpBridge, openMcpBridge } from "../process/mcp-bridge.js";
import { signalGroup } from "../process/process-group.js";
import { Program, type ProgramExit, type ProgramPatience } from "../process/program.js";
import { createRedactor, type Redactor } from "../process/redactor.js";
import { secretsOf } from "../process/secrets.js";
import { EventMapper } from "./event-mapper.js";
import { addressVariable, cursorCommand, serverEntry } from "./launch.js";
import { type AddedServers, addServers } from "./mcp-file.js";
import type { CursorOptions } from "./options.js";
import { outcomeOf } from "./outcome.js";

const GRACE_MS = 5_000;
const CANCEL_PATIENCE: ProgramPatience = { inputMs: 1_000, terminateMs: 2_000 };
/** What the program still says is of no use. */
const FAULT_PATIENCE: ProgramPatience = { inputMs: 0, terminateMs: 2_000 };

/** Why the driver stops listening to the program. */
type Stop = "exited" | "cancelled" | "fault" | "done";

/** What one run is made of. */
export interface CursorRunSetup {
  readonly options: CursorOptions;
  readonly request: DriverRequest;
  readonly sink: DriverSink;
}

/** A server of the run and the bridge that stands for it. */
interface Bridged {
  readonly server: McpHttpServer;
  readonly bridge: McpBridge;
  contacted: boolean;
}

/** One run of the program, from the change of the workspace's file to its end. */
export class CursorRun {
  readonly #setup: CursorRunSetup;
  readonly #redact: Redactor;
  readonly #mapper: EventMapper;
  readonly #stopped: Promise<Stop>;
  #stop: (reason: Stop) => void = () => {};
  #bridged: readonly Bridged[] = [];
  #session: string | undefined;
  #result: JsonObject | undefined;
  #fault: TroupeError<RunErrorCode> | undefined;
  #garbage = 0;

  constructor(setup: CursorRunSetup) {
    const { options, request, sink } = setup;
    this.#setup = setup;
    const env = { ...options.env, ...request.env };
    this.#redact = createRedactor(secretsOf({ mcpServers: request.mcpServers, env }));
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
    this.#mapper = new EventMapper({
      idPrefix: `${request.runId}-message`,
      servers: request.mcpServers.map(({ name }) => name),
      emit: (event) => sink.emit(event),
    });
  }

  /** Runs to the end. */
  async outcome(): Promise<DriverOutcome> {
    const { mcpServers, workspace, clock, signal } = this.#setup.request;
    let added: AddedServers | undefined;
    try {
      this.#bridged = await Promise.all(mcpServers.filter(isHttp).map((server) => bridge(server)));
      // A missing workspace is told by the start of the program; it must not come to be by the file in it.
      const isDirectory = statSync(workspace, { throwIfNoEntry: false })?.isDirectory() === true;
      if (this.#bridged.length > 0 && isDirectory) {
        const entries = this.#bridged.map(({ server }) => [server.name, serverEntry(server)] as const);
        added = await addServers(workspace, Object.fromEntries(entries), clock);
      }
      if (signal.aborted) return { status: "cancelled" };
      return await this.#run();
    } catch (error) {
      if (error instanceof TroupeError && error.code === "invalid_input")
        return { status: "failed", error: error as TroupeError<RunErrorCode> };
      throw error;
    } finally {
      await added?.release();
      await Promise.all(this.#bridged.map(({ bridge: open }) => open.close()));
    }
  }

  async #run(): Promise<DriverOutcome> {
    const { options, request, sink } = this.#setup;
    const { signal } = request;
    const addresses = this.#bridged.map(
      ({ server, bridge: { address } }) => [addressVariable(server), address] as const,
    );
    const program = new Program({
      command: cursorCommand(options, request),
      cwd: request.workspace,
      env: { ...options.env, ...request.env, ...Object.fromEntries(addresses) },
      clock: request.clock,
      onValue: (value, line) => this.#value(value, line),
      onGarbage: (line) => this.#unreadable(line),
      onStderr: (text) => sink.raw("stderr", this.#redact(text)),
      onFault: (error) => this.#fail(error),
    });
    program.sendAll(request.prompt);
    const cancel = () => this.#stop("cancelled");
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    void program.exited.then(() => this.#stop("exited"));
    const stop = await this.#stopped;
    const exit = await this.#end(program, stop);
    signal.removeEventListener("abort", cancel);
    this.#mapper.close();
    if (stop !== "cancelled") this.#tellUnused();
    // An error thrown by whoever takes the events is no outcome of the program.
    if (this.#fault?.code === "internal") throw this.#fault;
    return this.#conclude(stop === "cancelled", exit);
  }

  #end(program: Program, stop: Stop): Promise<ProgramExit> {
    if (stop === "done") return program.end({ inputMs: this.#setup.options.graceMs ?? GRACE_MS });
    // Its input has ended already, so an interrupt is the gentle way.
    if (stop === "cancelled" && program.pid !== undefined) signalGroup(program.pid, "SIGINT");
    return program.end(stop === "fault" ? FAULT_PATIENCE : CANCEL_PATIENCE);
  }

  #conclude(cancelled: boolean, exit: ProgramExit): DriverOutcome {
    const { options, request } = this.#setup;
    const { workspace, persist, resume } = request;
    const session = this.#session;
    const { executable = "agent" } = options;
    return outcomeOf({
      executable: typeof executable === "string" ? executable : executable[0],
      cancelled,
      exit,
      redact: this.#redact,
      ...defined({ fault: this.#fault, result: this.#result, resumed: resume?.checkpoint.session }),
      ...(session !== undefined && persist ? { checkpoint: { driver: "cursor", workspace, session } } : {}),
    });
  }

  #value(value: unknown, line: string): void {
    this.#setup.sink.raw("stdout", `${this.#redact(line)}\n`);
    const event = asObject(value);
    this.#session = asText(event.session_id) ?? this.#session;
    this.#mapper.event(event);
    if (event.type !== "result") return;
    this.#result ??= event;
    this.#stop("done");
  }

  /** Nothing else tells that a server was not started, or not approved. */
  #tellUnused(): void {
    for (const { server, contacted } of this.#bridged) {
      if (contacted) continue;
      const message = `Cursor did not use the MCP server ${server.name}; its tools were missing. Is it disabled, or does a policy forbid it?`;
      this.#setup.sink.emit({ type: "notice", level: "warning", code: "mcp_server_failed", message });
    }
  }

  #unreadable(line: string): void {
    const words = this.#redact(line);
    this.#setup.sink.raw("stdout", `${words}\n`);
    this.#garbage += 1;
    if (this.#garbage > 1) return;
    const message = `Cursor wrote a line that is not JSON; it is ignored: ${startOf(words, 200)}`;
    this.#setup.sink.emit({ type: "notice", level: "warning", code: "unreadable_output", message });
  }

  #fail(error: TroupeError<RunErrorCode>): void {
    this.#fault ??= error;
    this.#stop("fault");
  }
}

async function bridge(server: McpHttpServer): Promise<Bridged> {
  const bridged: Bridged = { server, bridge: await openMcpBridge(server), contacted: false };
  void bridged.bridge.contacted.then(() => {
    bridged.contacted = true;
  });
  return bridged;
}

function isHttp(server: McpServer): server is McpHttpServer {
  return server.transport === "http";
}
