import { randomUUID } from "node:crypto";
import {
  type AgentContext,
  methods,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { fillPlaceholders } from "../program/placeholders.js";
import type { OfferedTool, ToolClients } from "../program/tool-clients.js";
import type { Trace } from "../program/trace.js";
import type { AcpScript, AcpStep, AcpTool } from "./script.js";

/** What a {@link ScriptedTurn} works with. */
export interface TurnSetup {
  readonly steps: readonly AcpStep[];
  readonly prompt: string;
  readonly sessionId: string;
  readonly script: AcpScript;
  readonly client: AgentContext;
  readonly clients: ToolClients;
  /** Milliseconds between two pieces of text. */
  readonly paceMs: number;
  readonly trace: Trace;
}

type StopReason = PromptResponse["stopReason"];

/** Thrown inside the turn when it ends early. */
class TurnOver extends Error {
  constructor(readonly stopReason: StopReason) {
    super("turn over");
  }
}

/** What the scripted agent does with one prompt. */
export class ScriptedTurn {
  readonly #setup: TurnSetup;
  readonly #abort = new AbortController();
  readonly #results: string[] = [];
  #lastFailed = false;

  constructor(setup: TurnSetup) {
    this.#setup = setup;
  }

  /** Stops it: its MCP calls are aborted. */
  cancel(): void {
    this.#abort.abort("cancel");
  }

  async run(): Promise<PromptResponse> {
    let stopReason: StopReason = "end_turn";
    try {
      for (const step of this.#setup.steps) await this.#step(step);
    } catch (error) {
      if (!(error instanceof TurnOver)) throw error;
      stopReason = error.stopReason;
    }
    const usage = { inputTokens: 10, outputTokens: 5, cachedReadTokens: 2, totalTokens: 15 };
    return { stopReason, usage } as PromptResponse;
  }

  async #step(step: AcpStep): Promise<void> {
    if (this.#abort.signal.aborted) throw new TurnOver("cancelled");
    if ("think" in step) await this.#say("agent_thought_chunk", [this.#fill(step.think)], 0);
    else if ("say" in step) {
      if (step.when !== undefined && (step.when === "error") !== this.#lastFailed) return;
      const pieces = step.chunks
        ? this.#fill(step.chunks)
        : (this.#fill(step.say).match(/\s*\S+\s*$|\s*\S+/g) ?? []);
      await this.#say("agent_message_chunk", pieces, step.delayMs ?? this.#setup.paceMs, step.messageId);
    } else if ("tools" in step) await this.#tools(step.tools);
    else if ("shell" in step) await this.#shell(this.#fill(step.shell));
    else if ("edit" in step) await this.#edit(step.edit);
    else if ("plan" in step) {
      const entries = step.plan.map((entry) => ({ ...entry, priority: "medium" }));
      await this.#update({ sessionUpdate: "plan", entries });
    } else if ("update" in step) await this.#update(step.update);
    else if ("request" in step) {
      const params = { sessionId: this.#setup.sessionId, ...step.request.params };
      const answer = this.#setup.client.request(step.request.method, params).catch((error: unknown) => error);
      const value = await this.#unlessAborted(answer);
      this.#results.push(value instanceof Error ? value.message : JSON.stringify(value));
    } else if ("error" in step)
      throw new RequestError(step.error.code ?? -32_603, step.error.message, step.error.data);
    else if ("stop" in step) throw new TurnOver(step.stop);
    else if ("exit" in step) process.exit(step.exit);
    else if ("die" in step) {
      process.kill(process.pid, step.die);
      await this.#aborted();
    } else if ("hang" in step) await this.#aborted();
    else if ("garbage" in step) process.stdout.write(`${step.garbage}\n`);
    else process.stderr.write(this.#fill(step.stderr));
  }

  async #say(
    sessionUpdate: string,
    pieces: readonly string[],
    delay: number,
    messageId?: string,
  ): Promise<void> {
    const own = messageId === undefined ? {} : { messageId };
    for (const [index, text] of pieces.entries()) {
      if (index > 0 && delay > 0) await this.#pause(delay);
      if (this.#abort.signal.aborted) throw new TurnOver("cancelled");
      await this.#update({ sessionUpdate, content: { type: "text", text }, ...own });
    }
  }

  async #tools(tools: readonly AcpTool[]): Promise<void> {
    const running = tools.map(async (tool) => {
      const offered = this.#setup.clients.find(tool.name);
      const place = this.#results.push("") - 1;
      if (!offered) {
        this.#results[place] = `unknown tool: ${tool.name}`;
        return true;
      }
      return this.#call(offered, tool.id ?? `call_${randomUUID()}`, this.#fill(tool.input ?? {}), place);
    });
    const ended = Promise.all(running);
    ended.catch(() => {});
    this.#lastFailed = (await this.#unlessAborted(ended)).includes(true);
  }

  /** @returns whether the result is an error. */
  async #call(offered: OfferedTool, givenId: string, input: unknown, place: number): Promise<boolean> {
    const { clients, trace, script } = this.#setup;
    const shown = shownCall(script.agent, offered, givenId, input);
    const { toolCallId } = shown;
    if (script.asksForTools !== false && !(await this.#allowed(shown))) {
      this.#results[place] = "rejected by user";
      await this.#update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
      return true;
    }
    const sessionUpdate = script.asksForTools === false ? "tool_call" : "tool_call_update";
    await this.#update({ sessionUpdate, ...shown, status: "in_progress" });
    const result = await clients.call(offered, input, toolCallId, this.#abort.signal);
    if (this.#abort.signal.aborted) return true;
    trace({
      tool_result: { id: toolCallId, name: offered.name, text: result.text, isError: result.isError },
    });
    this.#results[place] = result.text;
    const status = result.isError ? "failed" : "completed";
    await this.#update({ sessionUpdate: "tool_call_update", toolCallId, status, content: text(result.text) });
    return result.isError;
  }

  async #shell(step: Extract<AcpStep, { shell: unknown }>["shell"]): Promise<void> {
    const { command, output = "", exitCode = 0, id = `call_${randomUUID()}` } = step;
    const call = { toolCallId: id, title: command, kind: "execute" as const, rawInput: { command } };
    await this.#update({ sessionUpdate: "tool_call", ...call, status: "pending" });
    if (step.ask && !(await this.#allowed(call))) {
      this.#results.push("rejected by user");
      await this.#update({ sessionUpdate: "tool_call_update", toolCallId: id, status: "failed" });
      return;
    }
    this.#results.push(output);
    const status = exitCode === 0 ? "completed" : "failed";
    await this.#update({ sessionUpdate: "tool_call_update", toolCallId: id, status, content: text(output) });
  }

  async #edit(step: Extract<AcpStep, { edit: unknown }>["edit"]): Promise<void> {
    const { path, oldText = null, newText, id = `call_${randomUUID()}` } = step;
    const content = [{ type: "diff" as const, path, oldText, newText }];
    const call = { toolCallId: id, title: `Edit ${path}`, kind: "edit" as const, content };
    const allowed = !step.ask || (await this.#allowed(call));
    const sessionUpdate = step.ask ? "tool_call_update" : "tool_call";
    await this.#update({ sessionUpdate, ...call, status: allowed ? "completed" : "failed" });
  }

  async #allowed(toolCall: ToolCallUpdate): Promise<boolean> {
    const { client, sessionId } = this.#setup;
    const { outcome } = await this.#unlessAborted(
      client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall: { ...toolCall, status: "pending" },
        options: [
          { optionId: "always", name: "Always allow", kind: "allow_always" },
          { optionId: "once", name: "Allow", kind: "allow_once" },
          { optionId: "no", name: "Reject", kind: "reject_once" },
        ],
      }),
    );
    if (outcome.outcome === "cancelled") throw new TurnOver("cancelled");
    this.#setup.trace({ permission: outcome.optionId });
    return outcome.optionId !== "no";
  }

  /** Updates may be such as no schema allows. */
  async #update(update: Readonly<Record<string, unknown>>): Promise<void> {
    const { client, sessionId } = this.#setup;
    await client.notify(methods.client.session.update, { sessionId, update: update as SessionUpdate });
  }

  #fill<T>(value: T): T {
    return fillPlaceholders(value, { prompt: this.#setup.prompt, results: this.#results });
  }

  async #unlessAborted<T>(promise: Promise<T>): Promise<T> {
    const value = await Promise.race([promise, this.#aborted()]);
    if (this.#abort.signal.aborted) throw new TurnOver("cancelled");
    return value;
  }

  /** Never resolves; rejects when the turn is cancelled. */
  #aborted(): Promise<never> {
    const { signal } = this.#abort;
    return new Promise((_, reject) => {
      if (signal.aborted) reject(new TurnOver("cancelled"));
      else signal.addEventListener("abort", () => reject(new TurnOver("cancelled")), { once: true });
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

function text(value: string) {
  return [{ type: "content" as const, content: { type: "text" as const, text: value } }];
}

/** A call as the agent whose ways are imitated shows it. */
function shownCall(
  agent: AcpScript["agent"],
  { server, tool }: OfferedTool,
  id: string,
  input: unknown,
): ToolCallUpdate {
  switch (agent) {
    case "gemini-cli":
      return {
        toolCallId: `mcp_${server}_${tool.name}__${id}`,
        title: `${tool.name} (${server} MCP Server)`,
        kind: "other",
        content: text(JSON.stringify(input)),
      };
    case "opencode":
      return { toolCallId: id, title: `${server}_${tool.name}`, kind: "other", rawInput: input };
    case "codex-acp":
      return {
        toolCallId: id,
        title: `Tool: ${server}/${tool.name}`,
        kind: "other",
        rawInput: { server, tool: tool.name, arguments: input },
      };
    default:
      return { toolCallId: id, title: tool.name, name: `mcp__${server}__${tool.name}`, rawInput: input };
  }
}
