import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { type Clock, type Timer, withinTime } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import { parseTraceparent } from "../../delegation/trace-context.js";
import { elicitRequest, serveTasks, TASKS_EXTENSION, taskResult, toolResult } from "./protocol.js";
import type { McpCall, McpQuestion, McpTool, McpToolset } from "./tool.js";

/** Options of a {@link RunServer}. */
export interface RunServerOptions {
  readonly clock: Clock;
  readonly instructions: string;
  readonly version: string;
  readonly onError: (error: Error) => void;
}

/** A form stays as long as its question, which has a limit of its own; the SDK's default would be a minute. */
const FORM_MS = 2_147_483_647;
/** Claude Code drops a call that is silent for 300 s, others after 60; progress resets that. */
const PROGRESS_MS = 15_000;
/** How long calls may take to be answered when what they wait for is ended, in milliseconds. */
const LAST_ANSWERS_MS = 5_000;

/** Makes MCP servers that all serve the tools of one run. */
export class RunServer {
  readonly #eras = new WeakMap<Server, "modern" | "legacy">();
  readonly #openCalls = new Set<Promise<unknown>>();

  constructor(
    private readonly toolset: McpToolset,
    private readonly options: RunServerOptions,
  ) {}

  /** A server for one request of the modern era, or for one legacy session. Tools are read anew for every request. */
  create(era: "modern" | "legacy"): Server {
    const info = { name: "troupe", title: "Troupe", version: this.options.version };
    const { tasks } = this.toolset;
    const extensions =
      era === "legacy" || tasks === undefined ? {} : { extensions: { [TASKS_EXTENSION]: {} } };
    const server = new Server(info, {
      capabilities: { tools: { listChanged: true }, ...extensions },
      instructions: this.options.instructions,
    });
    if (era === "modern" && tasks !== undefined) serveTasks(server, tasks);
    this.#eras.set(server, era);
    server.onerror = this.options.onError;
    server.setRequestHandler("tools/list", () => ({ tools: this.toolset.tools().map(listed) }));
    server.setRequestHandler("tools/call", ({ params }, context) => {
      // Arguments are the tool's own matter: a bad call gets its error object instead of the SDK's text.
      const call = this.#call(server, params.name, params.arguments ?? {}, context);
      this.#openCalls.add(call);
      void call.finally(() => this.#openCalls.delete(call)).catch(() => undefined);
      return call;
    });
    return server;
  }

  /** As {@link settled}, but for no longer than a few seconds: whoever ends what calls wait for answers them soon. */
  async lastAnswers(): Promise<void> {
    await withinTime(this.options.clock, LAST_ANSWERS_MS, this.settled());
  }

  /** Resolves when every call that came in has been answered. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#openCalls);
    // The answers are written a few promises later; a stream that is closed before that leaves its client waiting.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  async #call(
    server: Server,
    tool: string,
    input: unknown,
    context: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> {
    if (!this.toolset.tools().some(({ name }) => name === tool))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${tool.slice(0, 128)} not found`);
    const meta: Record<string, unknown> = context.mcpReq._meta ?? {};
    const callId = meta["claudecode/toolUseId"] ?? meta.callId;
    const hint = context.mcpReq.requestState();
    const answers = context.mcpReq.inputResponses;
    const cancelled = new AbortController();
    let settled = false;
    // The signal also fires right after every answer in the modern era, so it counts only before.
    const onAbort = () => {
      if (!settled && isCancel(context.mcpReq.signal.reason)) cancelled.abort("client");
    };
    context.mcpReq.signal.addEventListener("abort", onAbort, { once: true });
    const call: McpCall = {
      tool,
      input,
      cancelled: cancelled.signal,
      canAsk: canShowForms(server.getClientCapabilities()),
      takesTask: declaresTasks(context),
      ...(typeof callId === "string" ? { callId } : {}),
      ...(typeof hint === "string" ? { hint } : {}),
      ...defined({ answers, traceparent: parseTraceparent(meta.traceparent) }),
    };
    const beat = this.#beat(context, meta.progressToken, () => this.toolset.progress(call));
    try {
      let reply = await this.toolset.call(call);
      if ("form" in reply && this.#eras.get(server) === "modern") {
        const { form, hint: requestState } = reply;
        return inputRequired({ inputRequests: { [form.key]: elicitRequest(form) }, requestState });
      }
      // An older client is asked on the open call. It is left alone when the answer comes from elsewhere meanwhile.
      while ("form" in reply) {
        const given = await this.#ask(context, reply);
        const { aborted } = context.mcpReq.signal;
        // Nobody hears this. The question stays open for others, and for the same call in a new session.
        if (aborted && !cancelled.signal.aborted) throw new Error("The client is gone.");
        reply = await this.toolset.call({ ...call, hint: reply.hint, answers: given });
      }
      return "task" in reply ? taskResult(reply.task) : toolResult(reply);
    } finally {
      settled = true;
      beat.cancel();
      context.mcpReq.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Shows a form to a legacy client's person. Never rejects: a client that cannot show it has not answered. */
  async #ask(context: ServerContext, question: McpQuestion): Promise<Record<string, unknown>> {
    const { key } = question.form;
    const over = new AbortController();
    const { params } = elicitRequest(question.form);
    const { signal, id: relatedRequestId } = context.mcpReq;
    let onAbort: () => void = () => undefined;
    const takenBack = new Promise<void>((resolve) => {
      onAbort = resolve;
      signal.addEventListener("abort", onAbort, { once: true });
    });
    const asking = context.mcpReq
      // Without the call's id it would go out on the session's own stream, which many clients never open.
      .elicitInput(params, { signal: over.signal, timeout: FORM_MS, relatedRequestId })
      .then((response) => ({ [key]: response }))
      .catch(() => ({ [key]: { action: "cancel" } }));
    const pointless = Promise.race([question.pointless(), takenBack]).then(() => ({}));
    try {
      return await Promise.race([asking, pointless]);
    } finally {
      over.abort("the question waits for no answer any more");
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Progress at once, which makes clients of 2025-06-18 able to resume, and then regularly. */
  #beat(context: ServerContext, progressToken: unknown, line: () => string): Timer {
    if (typeof progressToken !== "string" && typeof progressToken !== "number")
      return { cancel: () => undefined };
    let progress = 0;
    let timer: Timer;
    const beat = () => {
      timer = this.options.clock.timer(PROGRESS_MS, beat);
      const params = { progressToken, progress: ++progress, message: line().slice(0, 80) };
      // A client that went away is no error of ours.
      context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
    };
    beat();
    return { cancel: () => timer.cancel() };
  }
}

/** A tool as it is listed; its schemas go out as they are. */
function listed({ name, title, description, annotations, inputSchema, outputSchema }: McpTool): Tool {
  return {
    name,
    title,
    description,
    annotations,
    inputSchema: inputSchema as Tool["inputSchema"],
    ...(outputSchema === undefined ? {} : { outputSchema: outputSchema as Tool["inputSchema"] }),
    // Otherwise Claude Code hides the tool behind a search.
    _meta: { "anthropic/alwaysLoad": true },
  };
}

/** Whether an abort is the client's decision. A closed connection or its own time limit only means that it stopped waiting. */
function isCancel(reason: unknown): boolean {
  return !/connection closed|timed? ?out/i.test(String(reason instanceof Error ? reason.message : reason));
}

/** A client that says nothing more of elicitation than that it can means forms. */
function canShowForms(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

const envelope = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({ extensions: z.object({ [TASKS_EXTENSION]: z.unknown() }) }),
});

function declaresTasks({ mcpReq }: ServerContext): boolean {
  const declared = envelope.safeParse(mcpReq.envelope).data?.[CLIENT_CAPABILITIES_META_KEY].extensions;
  return declared?.[TASKS_EXTENSION] !== undefined;
}
