import { randomUUID } from "node:crypto";
import { fillPlaceholders } from "../program/placeholders.js";
import type { OfferedTool, ServerConfig, ToolClients } from "../program/tool-clients.js";
import type { Trace } from "../program/trace.js";
import type { AppServerWriter, Fields } from "./app-server-writer.js";
import type { CodexCommand, CodexStep, CodexTool } from "./script.js";

/** Configuration of a server as the request that opens the thread has it. */
export interface CodexServerConfig extends ServerConfig {
  readonly http_headers?: Readonly<Record<string, string>>;
  readonly tool_timeout_sec?: number;
  readonly required?: boolean;
  readonly default_tools_approval_mode?: string;
  readonly supports_parallel_tool_calls?: boolean;
}

/** What a {@link ScriptedTurn} works with. */
export interface TurnSetup {
  readonly steps: readonly CodexStep[];
  readonly prompt: string;
  readonly writer: AppServerWriter;
  readonly clients: ToolClients;
  readonly servers: Readonly<Record<string, CodexServerConfig>>;
  /** Milliseconds between two pieces of text. */
  readonly paceMs: number;
  readonly trace: Trace;
}

/** How a turn ended. */
export interface TurnEnd {
  readonly status: "completed" | "interrupted" | "failed";
  readonly error?: Fields;
}

interface Call {
  readonly id: string;
  readonly input: unknown;
  readonly offered: OfferedTool;
  readonly place: number;
}

/** Thrown inside the turn when it is interrupted. */
class Interrupted extends Error {}

/** Thrown inside the turn when it fails. */
class TurnFailed extends Error {
  constructor(readonly error: Fields) {
    super("turn failed");
  }
}

/** What the scripted program does with one prompt. */
export class ScriptedTurn {
  readonly #setup: TurnSetup;
  readonly #abort = new AbortController();
  readonly #results: string[] = [];
  /** Commands that go on in the background. */
  readonly #background: Fields[] = [];
  readonly #late: Promise<unknown>[] = [];
  #lastFailed = false;

  constructor(setup: TurnSetup) {
    this.#setup = setup;
  }

  /** Stops it: its MCP calls are aborted and its questions taken back. */
  interrupt(): void {
    this.#setup.writer.withdrawAll();
    this.#abort.abort("interrupt");
  }

  /** Ends commands that go on in the background; their items complete then. */
  cleanTerminals(): void {
    for (const item of this.#background.splice(0))
      this.#setup.writer.itemCompleted({ ...item, status: "failed", exitCode: -1 });
  }

  /** Settles when the calls have ended that were left behind. */
  async late(): Promise<void> {
    await Promise.all(this.#late);
  }

  async run(): Promise<TurnEnd> {
    try {
      for (const step of this.#setup.steps) await this.#step(step);
      return { status: "completed" };
    } catch (error) {
      if (error instanceof TurnFailed) return { status: "failed", error: error.error };
      if (error instanceof Interrupted) return { status: "interrupted" };
      throw error;
    }
  }

  async #step(step: CodexStep): Promise<void> {
    const { writer } = this.#setup;
    if (this.#abort.signal.aborted) throw new Interrupted();
    if ("think" in step) this.#think(this.#fill(step.think));
    else if ("say" in step) await this.#say(step);
    else if ("tools" in step) await this.#tools(step.tools, step.late === true);
    else if ("shell" in step) await this.#shell(this.#fill(step.shell));
    else if ("patch" in step) await this.#patch(step.patch);
    else if ("search" in step) {
      const item = { type: "webSearch", id: `ws_${randomUUID()}`, query: "", action: null };
      writer.itemStarted(item);
      const query = this.#fill(step.search);
      writer.itemCompleted({ ...item, query, action: { type: "search", query } });
    } else if ("plan" in step) writer.notify("turn/plan/updated", { explanation: null, plan: step.plan });
    else if ("retry" in step) this.#retry(step.retry);
    else if ("error" in step) this.#fail(step.error);
    else if ("request" in step) {
      const answer = await this.#unlessAborted(writer.ask(step.request.method, step.request.params));
      this.#results.push(JSON.stringify(answer));
    } else if ("withdraw" in step) {
      void writer.ask(step.withdraw.method, step.withdraw.params);
      writer.withdrawAll();
    } else if ("notify" in step) {
      const json = JSON.stringify(step.notify.params)
        .replaceAll("{{thread}}", writer.thread)
        .replaceAll("{{turn}}", writer.turn);
      writer.write({ method: step.notify.method, params: JSON.parse(json) });
    } else if ("exit" in step) process.exit(step.exit);
    else if ("die" in step) {
      process.kill(process.pid, step.die);
      await this.#aborted();
    } else if ("hang" in step) await this.#aborted();
    else if ("garbage" in step) process.stdout.write(`${step.garbage}\n`);
    else process.stderr.write(this.#fill(step.stderr));
  }

  #think(thinking: string): void {
    const { writer } = this.#setup;
    const item = { type: "reasoning", id: `rs_${randomUUID()}`, summary: [], content: [] };
    writer.itemStarted(item);
    writer.notify("item/reasoning/summaryTextDelta", { itemId: item.id, delta: thinking, summaryIndex: 0 });
    writer.itemCompleted({ ...item, summary: [thinking] });
  }

  async #say(step: Extract<CodexStep, { say: string }>): Promise<void> {
    const { writer, paceMs } = this.#setup;
    if (step.when !== undefined && (step.when === "error") !== this.#lastFailed) return;
    const pieces = step.chunks
      ? this.#fill(step.chunks)
      : (this.#fill(step.say).match(/\s*\S+\s*$|\s*\S+/g) ?? []);
    const delay = step.delayMs ?? paceMs;
    const item = { type: "agentMessage", id: `msg_${randomUUID()}`, text: "", phase: null };
    writer.itemStarted(item);
    for (const [index, delta] of pieces.entries()) {
      if (index > 0 && delay > 0) await this.#pause(delay);
      if (this.#abort.signal.aborted) throw new Interrupted();
      writer.notify("item/agentMessage/delta", { itemId: item.id, delta });
    }
    writer.itemCompleted({ ...item, text: pieces.join("") });
    const used = { totalTokens: 15, inputTokens: 10, cachedInputTokens: 2, outputTokens: 5 };
    writer.notify("thread/tokenUsage/updated", { tokenUsage: { total: used, last: used } });
  }

  async #tools(tools: readonly CodexTool[], late: boolean): Promise<void> {
    const running: Promise<boolean>[] = [];
    let serial: Promise<unknown> = Promise.resolve();
    for (const tool of tools) {
      const offered = this.#setup.clients.find(tool.name);
      const place = this.#results.push("") - 1;
      // The real program shows no item for a call of what it does not know.
      if (!offered) {
        this.#results[place] = `unsupported call: ${tool.name}`;
        running.push(Promise.resolve(true));
        continue;
      }
      const id = tool.id ?? `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
      const call = { id, input: this.#fill(tool.input ?? {}), offered, place };
      const parallel = this.#setup.servers[offered.server]?.supports_parallel_tool_calls === true;
      const execution = parallel ? this.#execute(call) : serial.then(() => this.#execute(call));
      if (!parallel) serial = execution;
      running.push(execution);
    }
    const ended = Promise.all(running);
    ended.catch(() => {});
    this.#late.push(ended);
    if (!late) this.#lastFailed = (await this.#unlessAborted(ended)).includes(true);
  }

  /** @returns whether the result is an error. An interrupted call never completes. */
  async #execute({ id, input, offered, place }: Call): Promise<boolean> {
    const { writer, clients, servers, trace } = this.#setup;
    if (this.#abort.signal.aborted) return true;
    const { server, tool } = offered;
    const item = {
      type: "mcpToolCall",
      id,
      server,
      tool: tool.name,
      arguments: input,
      result: null,
      error: null,
    };
    writer.itemStarted({ ...item, status: "inProgress" });
    const fail = (message: string) => {
      this.#results[place] = message;
      writer.itemCompleted({ ...item, status: "failed", error: { message } });
      return true;
    };
    if (servers[server]?.default_tools_approval_mode !== "approve") {
      const answer = await writer.ask("mcpServer/elicitation/request", {
        serverName: server,
        mode: "form",
        message: `Allow the ${server} MCP server to run tool "${tool.name}"?`,
        requestedSchema: { type: "object", properties: {} },
        _meta: { codex_approval_kind: "mcp_tool_call", tool_name: tool.name, tool_params: input },
      });
      if (this.#abort.signal.aborted) return true;
      if (answer?.action !== "accept") return fail("user rejected MCP tool call");
    }
    const result = await clients.call(offered, input, id, this.#abort.signal);
    if (this.#abort.signal.aborted) return true;
    trace({ tool_result: { id, name: tool.name, text: result.text, isError: result.isError } });
    if (typeof result.streamed === "string") return fail(result.text);
    this.#results[place] = result.text;
    writer.itemCompleted({
      ...item,
      status: result.isError ? "failed" : "completed",
      result: result.streamed,
    });
    return result.isError;
  }

  async #shell(step: CodexCommand): Promise<void> {
    const { writer } = this.#setup;
    const { command, output = "", exitCode = 0 } = step;
    const id = step.id ?? `call_${randomUUID()}`;
    const cwd = process.cwd();
    const item = { type: "commandExecution", id, command, cwd, aggregatedOutput: null, exitCode: null };
    writer.itemStarted({ ...item, status: "inProgress" });
    if (step.ask) {
      const params = {
        itemId: id,
        command,
        cwd,
        reason: "need it",
        availableDecisions: ["accept", "cancel"],
      };
      const answer = await this.#unlessAborted(writer.ask("item/commandExecution/requestApproval", params));
      if (answer?.decision !== "accept") {
        this.#results.push("rejected by user");
        writer.itemCompleted({ ...item, status: "declined" });
        return;
      }
    }
    if (output !== "") writer.notify("item/commandExecution/outputDelta", { itemId: id, delta: output });
    this.#results.push(output);
    if (step.background) this.#background.push({ ...item, aggregatedOutput: output });
    else {
      const status = exitCode === 0 ? "completed" : "failed";
      writer.itemCompleted({ ...item, status, aggregatedOutput: output, exitCode });
    }
  }

  async #patch(step: Extract<CodexStep, { patch: unknown }>["patch"]): Promise<void> {
    const { writer } = this.#setup;
    const id = step.id ?? `call_${randomUUID()}`;
    const changes = [{ path: step.path, kind: { type: "add" }, diff: step.diff }];
    const item = { type: "fileChange", id, changes };
    writer.itemStarted({ ...item, status: "inProgress" });
    let status = "completed";
    if (step.ask) {
      const params = { itemId: id, reason: null, grantRoot: null };
      const answer = await this.#unlessAborted(writer.ask("item/fileChange/requestApproval", params));
      if (answer?.decision !== "accept") status = "declined";
    }
    writer.itemCompleted({ ...item, status });
  }

  #retry({ times = 1, status = 500 }: { times?: number; status?: number }): void {
    for (let attempt = 1; attempt <= times; attempt++) {
      this.#setup.writer.notify("error", {
        error: {
          message: `Reconnecting... ${attempt}/${times}`,
          codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: status } },
          additionalDetails: `unexpected status ${status}`,
        },
        willRetry: true,
      });
    }
  }

  #fail({ message, info = "other" }: { message: string; info?: unknown }): never {
    const error = { message, codexErrorInfo: info, additionalDetails: null };
    this.#setup.writer.notify("error", { error, willRetry: false });
    throw new TurnFailed(error);
  }

  #fill<T>(value: T): T {
    return fillPlaceholders(value, { prompt: this.#setup.prompt, results: this.#results });
  }

  async #unlessAborted<T>(promise: Promise<T>): Promise<T> {
    const value = await Promise.race([promise, this.#aborted()]);
    if (this.#abort.signal.aborted) throw new Interrupted();
    return value;
  }

  /** Never resolves; rejects when the turn is interrupted. */
  #aborted(): Promise<never> {
    const { signal } = this.#abort;
    return new Promise((_, reject) => {
      if (signal.aborted) reject(new Interrupted());
      else signal.addEventListener("abort", () => reject(new Interrupted()), { once: true });
    });
  }

  async #pause(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      const paced = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, milliseconds);
      });
      await this.#unlessAborted(paced);
    } finally {
      clearTimeout(timer);
    }
  }
}
