import { randomUUID } from "node:crypto";
import { fillPlaceholders } from "../program/placeholders.js";
import type { OfferedTool, ToolClients } from "../program/tool-clients.js";
import type { Trace } from "../program/trace.js";
import type { CommandLine } from "./command-line.js";
import type { ControlPeer } from "./control-peer.js";
import type { FrameWriter } from "./frame-writer.js";
import type { ScriptedTool, ScriptStep } from "./script.js";

/** What a {@link ScriptedTurn} works with. */
export interface TurnSetup {
  readonly steps: readonly ScriptStep[];
  readonly prompt: string;
  readonly writer: FrameWriter;
  readonly control: ControlPeer;
  readonly clients: ToolClients;
  readonly commandLine: CommandLine;
  /** Milliseconds between two pieces of text. */
  readonly paceMs: number;
  readonly trace: Trace;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly script: ScriptedTool;
  readonly offered?: OfferedTool;
  /** Its place among the results of the turn. */
  readonly place: number;
}

/** Thrown inside the turn when it is interrupted. */
class Interrupted extends Error {}

/** Thrown inside the turn when it ends early with this result. */
class TurnOver extends Error {
  constructor(readonly result: Readonly<Record<string, unknown>>) {
    super("turn over");
  }
}

const REJECTED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

/** What the scripted program does with one prompt. */
export class ScriptedTurn {
  readonly #setup: TurnSetup;
  readonly #abort = new AbortController();
  readonly #results: string[] = [];
  readonly #outstanding = new Map<string, Call>();
  #lastFailed = false;
  #said = "";

  constructor(setup: TurnSetup) {
    this.#setup = setup;
  }

  /** Calls that have no result yet. */
  get outstanding(): readonly string[] {
    return [...this.#outstanding.keys()];
  }

  /** Stops it: its MCP calls are aborted and its questions taken back. */
  interrupt(): void {
    this.#setup.control.withdrawAll();
    this.#abort.abort("remote-cancel");
  }

  /** Runs to its `result` frame. @returns whether that was an error. */
  async run(): Promise<boolean> {
    const { writer } = this.#setup;
    try {
      for (const step of this.#setup.steps) await this.#step(step);
      writer.endMessage("end_turn");
      writer.result({ result: this.#said });
      return false;
    } catch (error) {
      if (error instanceof TurnOver) {
        writer.endMessage("end_turn");
        writer.result({ is_error: true, ...error.result });
        return true;
      }
      if (!(error instanceof Interrupted)) throw error;
      this.#endInterrupted();
      return true;
    }
  }

  async #step(step: ScriptStep): Promise<void> {
    const { writer } = this.#setup;
    if (this.#abort.signal.aborted) throw new Interrupted();
    if ("think" in step) this.#think(this.#fill(step.think));
    else if ("say" in step) await this.#say(step);
    else if ("tools" in step) await this.#tools(step.tools);
    else if ("permission" in step) {
      const { tool, input, result = "done" } = step.permission;
      await this.#tools([{ name: tool, input, result, ask: true }]);
    } else if ("native" in step) await this.#native(step.native);
    else if ("retry" in step) this.#retry(step.retry);
    else if ("error" in step) this.#error(step.error);
    else if ("maxTurns" in step) {
      const errors = [`Reached maximum number of turns (${step.maxTurns})`];
      throw new TurnOver({ subtype: "error_max_turns", terminal_reason: "max_turns", errors });
    } else if ("exit" in step) process.exit(step.exit);
    else if ("die" in step) {
      process.kill(process.pid, step.die);
      await this.#aborted();
    } else if ("hang" in step) await this.#aborted();
    else if ("garbage" in step) process.stdout.write(`${step.garbage}\n`);
    else if ("stderr" in step) process.stderr.write(this.#fill(step.stderr));
    else for (const frame of step.frames) writer.write(this.#fill(frame) as Record<string, unknown>);
  }

  #think(thinking: string): void {
    const { writer } = this.#setup;
    writer.startBlock({ type: "thinking", thinking: "", signature: "" });
    writer.delta({ type: "thinking_delta", thinking });
    writer.delta({ type: "signature_delta", signature: "c2NyaXB0ZWQ=" });
    writer.endBlock({ type: "thinking", thinking, signature: "c2NyaXB0ZWQ=" });
  }

  async #say(step: Extract<ScriptStep, { say: string }>): Promise<void> {
    const { writer, paceMs } = this.#setup;
    if (step.when !== undefined && (step.when === "error") !== this.#lastFailed) return;
    const pieces = step.chunks
      ? this.#fill(step.chunks)
      : (this.#fill(step.say).match(/\s*\S+\s*$|\s*\S+/g) ?? []);
    const delay = step.delayMs ?? paceMs;
    writer.startBlock({ type: "text", text: "" });
    for (const [index, text] of pieces.entries()) {
      if (index > 0 && delay > 0) await this.#pause(delay);
      if (this.#abort.signal.aborted) throw new Interrupted();
      writer.delta({ type: "text_delta", text });
    }
    this.#said = pieces.join("");
    writer.endBlock({ type: "text", text: this.#said });
  }

  /** A tool starts at its block's end, while the message goes on; calls of tools that only read run side by side. */
  async #tools(tools: readonly ScriptedTool[]): Promise<void> {
    const { writer } = this.#setup;
    const calls = tools.map((tool) => this.#prepare(tool));
    const running: Promise<boolean>[] = [];
    let serial: Promise<unknown> = Promise.resolve();
    for (const call of calls) {
      const json = JSON.stringify(call.input);
      writer.startBlock({ type: "tool_use", id: call.id, name: call.name, input: {} });
      for (const partial of ["", json.slice(0, json.length / 2), json.slice(json.length / 2)]) {
        writer.delta({ type: "input_json_delta", partial_json: partial });
      }
      writer.endBlock({ type: "tool_use", id: call.id, name: call.name, input: call.input });
      this.#outstanding.set(call.id, call);
      const alone = call.offered?.tool.annotations?.readOnlyHint !== true;
      const execution = (alone ? Promise.all([serial, ...running]) : serial).then(() => this.#execute(call));
      if (alone) serial = execution;
      running.push(execution);
    }
    const ended = Promise.all(running);
    ended.catch(() => {});
    writer.endMessage("tool_use");
    this.#lastFailed = (await Promise.race([ended, this.#aborted()])).includes(true);
  }

  #prepare(tool: ScriptedTool): Call {
    const offered = tool.result === undefined ? this.#setup.clients.find(tool.name) : undefined;
    const place = this.#results.push("") - 1;
    return {
      id: tool.id ?? `toolu_${randomUUID().replaceAll("-", "").slice(0, 24)}`,
      name: offered?.name ?? tool.name,
      input: this.#fill(tool.input ?? {}),
      script: tool,
      place,
      ...(offered && { offered }),
    };
  }

  /** @returns whether the result is an error. */
  async #execute(call: Call): Promise<boolean> {
    if (this.#abort.signal.aborted) return true;
    const permitted = await this.#permit(call);
    if (this.#abort.signal.aborted) return true;
    if (typeof permitted === "string") {
      this.#answer(call, permitted, true, { tool_use_result: `Error: ${permitted}` });
      return true;
    }
    if (!call.offered) {
      const known = call.script.result !== undefined;
      const text = known
        ? this.#fill(call.script.result ?? "")
        : `<tool_use_error>Error: No such tool available: ${call.name}</tool_use_error>`;
      this.#answer(call, text, !known || call.script.isError === true);
      return !known || call.script.isError === true;
    }
    const result = await this.#setup.clients.call(call.offered, permitted.input, call.id, this.#abort.signal);
    if (this.#abort.signal.aborted) return true;
    this.#answer(call, result.text, result.isError, { tool_use_result: result.streamed });
    return result.isError;
  }

  /** @returns the arguments to run with, or the text of a refusal. */
  async #permit(call: Call): Promise<{ input: unknown } | string> {
    const { commandLine, control } = this.#setup;
    const rules = [
      call.name,
      ...(call.offered ? [call.name.slice(0, -call.offered.tool.name.length - 2)] : []),
    ];
    if (rules.some((rule) => commandLine.disallowedTools.includes(rule)))
      return `Permission to use ${call.name} has been denied.`;
    const asks = call.offered
      ? !rules.some((rule) => commandLine.allowedTools.includes(rule))
      : call.script.ask === true;
    if (!asks) return { input: call.input };
    const answer = await control.ask({
      subtype: "can_use_tool",
      tool_name: call.name,
      input: call.input,
      permission_suggestions: [],
      tool_use_id: call.id,
      ...(call.offered ? { mcp_server: { name: call.offered.server, source: "dynamic" } } : {}),
    });
    if (answer?.behavior === "allow") return { input: answer.updatedInput ?? call.input };
    return typeof answer?.message === "string" ? answer.message : REJECTED;
  }

  #answer(call: Call, text: string, isError: boolean, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#results[call.place] = text;
    this.#outstanding.delete(call.id);
    this.#setup.trace({ tool_result: { id: call.id, name: call.name, text, isError } });
    this.#setup.writer.toolResult(call.id, text, isError, fields);
  }

  async #native(native: { description: string; says: string; tool?: ScriptedTool }): Promise<void> {
    const { writer } = this.#setup;
    const id = `toolu_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    const input = {
      description: native.description,
      prompt: native.description,
      subagent_type: "general-purpose",
    };
    writer.startBlock({ type: "tool_use", id, name: "Agent", input: {} });
    writer.delta({ type: "input_json_delta", partial_json: JSON.stringify(input) });
    writer.endBlock({ type: "tool_use", id, name: "Agent", input });
    writer.endMessage("tool_use");
    const task = { task_id: randomUUID(), tool_use_id: id, description: native.description };
    const inner = { parent_tool_use_id: id, agent_id: task.task_id };
    const message = `msg_inner_${task.task_id}`;
    writer.system("task_started", { ...task, task_type: "local_agent" });
    if (native.tool) {
      const toolId = native.tool.id ?? `toolu_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
      const { name, input: toolInput = {}, result = "done" } = native.tool;
      writer.assistant(message, { type: "tool_use", id: toolId, name, input: this.#fill(toolInput) }, inner);
      writer.toolResult(toolId, this.#fill(result), native.tool.isError === true, inner);
    }
    const text = this.#fill(native.says);
    writer.assistant(message, { type: "text", text }, inner);
    writer.system("task_notification", { ...task, status: "completed", summary: text });
    this.#results.push(text);
    writer.toolResult(id, text, false);
  }

  #retry({
    times = 1,
    status = 500,
    error = "server_error",
  }: {
    times?: number;
    status?: number;
    error?: string;
  }): void {
    for (let attempt = 1; attempt <= times; attempt++) {
      const fields = { attempt, max_retries: 10, retry_delay_ms: 600 * attempt, error_status: status, error };
      this.#setup.writer.system("api_retry", fields);
    }
  }

  #error({
    status,
    code,
    message = `API Error: ${status ?? "no connection"}`,
  }: {
    status: number | null;
    code: string;
    message?: string;
  }): never {
    const { writer } = this.#setup;
    writer.endMessage("end_turn");
    writer.synthetic(message, { error: code, api_error_status: status });
    throw new TurnOver({ result: message, api_error_status: status, terminal_reason: "api_error" });
  }

  #endInterrupted(): void {
    const { writer } = this.#setup;
    const inTool = this.#outstanding.size > 0;
    writer.abortMessage();
    for (const id of this.#outstanding.keys()) {
      writer.toolResult(id, REJECTED, true, { tool_use_result: "User rejected tool use" });
    }
    this.#outstanding.clear();
    writer.user([{ type: "text", text: `[Request interrupted by user${inTool ? " for tool use" : ""}]` }]);
    writer.result({
      subtype: "error_during_execution",
      is_error: true,
      terminal_reason: inTool ? "aborted_tools" : "aborted_streaming",
      errors: ["[ede_diagnostic] result_type=user"],
    });
  }

  #fill<T>(value: T): T {
    return fillPlaceholders(value, { prompt: this.#setup.prompt, results: this.#results });
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
      await Promise.race([
        new Promise((resolve) => {
          timer = setTimeout(resolve, milliseconds);
        }),
        this.#aborted(),
      ]);
    } finally {
      clearTimeout(timer);
    }
  }
}
