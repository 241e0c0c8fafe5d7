import type { ApprovalDecision } from "../../core/approval.js";
import { defined } from "../../core/defined.js";
import type { DriverSink } from "../../core/driver.js";
import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { asObject, asText, type JsonObject } from "../process/json.js";
import { readQuestion } from "./question.js";

/** Options of a {@link ControlChannel}. */
export interface ControlChannelOptions {
  send(frame: JsonObject): void;
  readonly approve: DriverSink["approve"];
}

interface Waiting {
  resolve(response: JsonObject): void;
  reject(error: TroupeError<RunErrorCode>): void;
}

/** Claude Code's control protocol: requests in both directions on the same lines as the stream. */
export class ControlChannel {
  readonly #options: ControlChannelOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** Questions of the program that are not answered yet, by its request id. */
  readonly #asked = new Map<string, AbortController>();
  #count = 0;
  #closed = false;

  constructor(options: ControlChannelOptions) {
    this.#options = options;
  }

  /**
   * Sends a request.
   * @returns the program's response; never settles when the program does not answer.
   * @throws TroupeError `protocol_error` when it refuses.
   */
  request(request: JsonObject): Promise<JsonObject> {
    const id = `troupe-${++this.#count}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#options.send({ type: "control_request", request_id: id, request });
    });
  }

  /** Takes a frame. @returns whether it belonged to the control protocol. */
  frame(value: unknown): boolean {
    const frame = asObject(value);
    if (frame.type === "control_response") this.#response(asObject(frame.response));
    else if (frame.type === "control_request")
      this.#request(asText(frame.request_id), asObject(frame.request));
    else if (frame.type === "control_cancel_request") this.#withdraw(asText(frame.request_id));
    else return false;
    return true;
  }

  /** The program is gone: every open question is withdrawn, every open request stays unanswered. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    for (const id of [...this.#asked.keys()]) this.#withdraw(id);
  }

  #response(response: JsonObject): void {
    const id = asText(response.request_id);
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || !waiting) return;
    this.#waiting.delete(id);
    if (response.subtype === "success") waiting.resolve(asObject(response.response));
    else
      waiting.reject(
        new TroupeError("protocol_error", asText(response.error) ?? "The program refused a control request."),
      );
  }

  #request(id: string | undefined, request: JsonObject): void {
    if (id === undefined || this.#asked.has(id)) return;
    if (request.subtype === "can_use_tool")
      this.#answer(id, (withdrawn) => this.#permission(request, withdrawn));
    else if (request.subtype === "elicitation")
      this.#answer(id, (withdrawn) => this.#elicitation(request, withdrawn));
    else {
      // Silence would make the program wait for ever.
      const error = `Unsupported control request: ${asText(request.subtype) ?? "unnamed"}`;
      this.#respond({ subtype: "error", request_id: id, error });
    }
  }

  #respond(response: JsonObject): void {
    try {
      this.#options.send({ type: "control_response", response });
    } catch {
      // Code that decides may hand over what JSON cannot hold; the program still needs an answer.
      const { request_id } = response;
      const error = "The answer could not be sent.";
      this.#options.send({ type: "control_response", response: { subtype: "error", request_id, error } });
    }
  }

  #withdraw(id: string | undefined): void {
    if (id === undefined) return;
    const controller = this.#asked.get(id);
    this.#asked.delete(id);
    controller?.abort("withdrawn");
  }

  #answer(id: string, ask: (withdrawn: AbortSignal) => Promise<JsonObject>): void {
    const controller = new AbortController();
    this.#asked.set(id, controller);
    void ask(controller.signal).then((response) => {
      if (!this.#asked.delete(id) || this.#closed) return;
      this.#respond({ subtype: "success", request_id: id, response });
    });
  }

  async #permission(request: JsonObject, withdrawn: AbortSignal): Promise<JsonObject> {
    const tool = asText(request.tool_name) ?? "unknown";
    const input = asObject(request.input);
    const toolCallId = asText(request.tool_use_id);
    const common = { tool, input, ...defined({ toolCallId }) };
    const question = tool === "AskUserQuestion" ? readQuestion(input) : undefined;
    const decision = await this.#decide(
      question
        ? { kind: "question", title: question.title, schema: question.schema, ...common }
        : {
            kind: tool === "ExitPlanMode" ? "plan" : "permission",
            title: permissionTitle(tool, asText(request.description)),
            ...common,
          },
      withdrawn,
    );
    if (decision.decision === "deny")
      return { behavior: "deny", message: decision.message ?? "The person said no." };
    const answer = asObject(decision.input);
    if (question) return { behavior: "allow", updatedInput: { ...input, answers: answer } };
    return { behavior: "allow", updatedInput: Object.keys(answer).length > 0 ? answer : input };
  }

  async #elicitation(request: JsonObject, withdrawn: AbortSignal): Promise<JsonObject> {
    const server = asText(request.mcp_server_name) ?? "an MCP server";
    const url = asText(request.url);
    const decision = await this.#decide(
      {
        kind: "question",
        title: asText(request.message) ?? `${server} asks for input`,
        input: { server, ...defined({ url }) },
        ...defined({ schema: request.requested_schema }),
      },
      withdrawn,
    );
    return decision.decision === "approve"
      ? { action: "accept", content: asObject(decision.input) }
      : { action: "decline" };
  }

  /** Whoever decides may fail; the program then gets a no instead of silence. */
  async #decide(...args: Parameters<DriverSink["approve"]>): Promise<ApprovalDecision> {
    try {
      return await this.#options.approve(...args);
    } catch {
      return { decision: "deny", message: "The question could not be asked." };
    }
  }
}

function permissionTitle(tool: string, description: string | undefined): string {
  if (tool === "ExitPlanMode") return "Approve the plan";
  const line = description?.replaceAll(/\s+/g, " ").trim() ?? "";
  const detail = line === "" ? "" : `: ${line.length > 120 ? `${line.slice(0, 120)}…` : line}`;
  return `Use ${tool}${detail}`;
}
