import { isDeepStrictEqual } from "node:util";
import type { ApprovalDecision } from "../../core/approval.js";
import type { DriverSink } from "../../core/driver.js";
import type { McpServer } from "../../core/mcp-server.js";
import type { DriverEvent } from "../../core/run-event.js";
import { asList, asObject, asText, isObject, type JsonObject } from "../process/json.js";
import { METHOD_NOT_FOUND, type RpcId } from "../process/rpc-channel.js";
import type { EventMapper } from "./event-mapper.js";
import { CLIENT } from "./protocol.js";
import type { ToolView } from "./tool-call.js";

/** Options of a {@link PermissionDesk}. */
export interface PermissionDeskOptions {
  readonly calls: Pick<EventMapper, "asked">;
  readonly servers: readonly McpServer[];
  readonly approve: DriverSink["approve"];
  emit(event: DriverEvent): void;
  respond(id: RpcId, result: JsonObject): void;
  refuse(id: RpcId, code: number, message: string): void;
}

/** One of the answers that the agent offers. */
interface Option {
  readonly id: string;
  readonly kind: string;
}

const CANCELLED = { outcome: { outcome: "cancelled" } } as const;

/** Takes the agent's requests for permission and answers each exactly once. */
export class PermissionDesk {
  readonly #options: PermissionDeskOptions;
  readonly #trusted: ReadonlySet<string>;
  readonly #open = new Map<RpcId, AbortController>();
  #closed = false;

  constructor(options: PermissionDeskOptions) {
    this.#options = options;
    this.#trusted = new Set(options.servers.flatMap(({ name, trusted }) => (trusted ? [name] : [])));
  }

  /** Takes a request of the agent. What nobody can decide is refused: silence would make the agent wait for ever. */
  request(id: RpcId, method: string, params: JsonObject): void {
    if (this.#open.has(id)) return;
    const { respond, refuse, calls } = this.#options;
    if (method !== CLIENT.session_request_permission) {
      refuse(id, METHOD_NOT_FOUND, `Unsupported request: ${method}`);
      return;
    }
    if (this.#closed) {
      respond(id, CANCELLED);
      return;
    }
    const toolCall = asObject(params.toolCall);
    const call = calls.asked(toolCall);
    const options = optionsOf(params.options);
    if (call.certain && call.server !== undefined && this.#trusted.has(call.server)) {
      respond(id, this.#answer(options, { decision: "approve" }, call));
      return;
    }
    const controller = new AbortController();
    this.#open.set(id, controller);
    const kind = toolCall.kind === "switch_mode" ? "plan" : "permission";
    void this.#decide(kind, call, controller.signal).then((decision) => {
      if (this.#open.delete(id)) respond(id, this.#answer(options, decision, call));
    });
  }

  /** The run is being cancelled, or is over: what is open is answered as cancelled, as the protocol wants it. */
  close(): void {
    this.#closed = true;
    for (const [id, controller] of this.#open) {
      controller.abort("withdrawn");
      this.#options.respond(id, CANCELLED);
    }
    this.#open.clear();
  }

  /** Whoever decides may fail; the agent then gets a no instead of silence. */
  async #decide(
    kind: "permission" | "plan",
    call: ReturnType<EventMapper["asked"]>,
    withdrawn: AbortSignal,
  ): Promise<ApprovalDecision> {
    const { toolCallId, name, title, input } = call;
    try {
      return await this.#options.approve(
        { kind, tool: name, title, input, ...(toolCallId !== undefined && { toolCallId }) },
        withdrawn,
      );
    } catch {
      return { decision: "deny", message: "The question could not be asked." };
    }
  }

  #answer(options: readonly Option[], decision: ApprovalDecision, call: ToolView): JsonObject {
    const { decision: wanted, input } = decision;
    const chosen = asText(asObject(input).optionId);
    if (wanted === "approve" && chosen === undefined && !isUnchanged(input, call.input))
      // Doing the original instead would do what nobody has agreed to.
      return this.#declined(options, "this call was changed, and the agent runs it only as it asked for it");
    const kinds = wanted === "approve" ? ["allow_once"] : ["reject_once", "reject_always"];
    const option = options.find(({ id, kind }) =>
      chosen === undefined ? kinds.includes(kind) : id === chosen && sameWay(kind, wanted),
    );
    if (option !== undefined) return { outcome: { outcome: "selected", optionId: option.id } };
    // To allow it for good is more than a person said yes to.
    if (wanted === "approve") return this.#declined(options, "the agent offers no way to allow it this once");
    return CANCELLED;
  }

  #declined(options: readonly Option[], why: string): JsonObject {
    const message = `A permission was declined: ${why}.`;
    this.#options.emit({ type: "notice", level: "warning", code: "approval_declined", message });
    const no = options.find(({ kind }) => sameWay(kind, "deny"));
    return no === undefined ? CANCELLED : { outcome: { outcome: "selected", optionId: no.id } };
  }
}

function optionsOf(list: unknown): Option[] {
  return asList(list).flatMap((value) => {
    const { optionId, kind } = asObject(value);
    const id = asText(optionId);
    return id === undefined ? [] : [{ id, kind: asText(kind) ?? "" }];
  });
}

function sameWay(kind: string, decision: ApprovalDecision["decision"]): boolean {
  return kind.startsWith(decision === "approve" ? "allow" : "reject");
}

function isUnchanged(input: unknown, asked: unknown): boolean {
  if (input === undefined || input === null) return true;
  if (isObject(input) && Object.keys(input).length === 0) return true;
  return isDeepStrictEqual(input, asked);
}
