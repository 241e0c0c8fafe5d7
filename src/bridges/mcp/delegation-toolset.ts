import { z } from "zod";
import { errorText, TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import { type DelegationRequest, parseRequest } from "../../delegation/request.js";
import type { DelegationResult } from "../../delegation/result.js";
import type { RunDelegations, Wait } from "../../delegation/run-delegations.js";
import { DELEGATE_TOOL } from "./delegate-tool.js";
import { type HandleTool, isHandleTool } from "./handle-tools.js";
import type { SkillTool } from "./skill-tools.js";
import type { McpAnswer, McpCall, McpTool, McpToolset } from "./tool.js";
import type { ToolCatalog } from "./tool-catalog.js";

const text = z.string().max(1_048_576);
const taskInput = z.strictObject({ message: text.min(1), context: text.optional() });
const delegation_id = z.string().min(1).max(128);
const handleInputs = {
  task_status: z.strictObject({ delegation_id }),
  task_result: z.strictObject({ delegation_id, wait_seconds: z.number().min(0).max(3_600).optional() }),
  task_cancel: z.strictObject({ delegation_id, reason: z.string().max(500).optional() }),
  task_reply: z.strictObject({
    delegation_id,
    text: text.optional(),
    data: z.record(z.string(), z.unknown()).optional(),
  }),
};

/** The tools of one run: what a call says becomes a delegation, or something that is done to one. */
export class DelegationToolset implements McpToolset {
  /** @param budgetMs after which a call answers `working` and the delegation goes on; without end when absent. */
  constructor(
    private readonly delegations: RunDelegations,
    private readonly catalog: ToolCatalog,
    private readonly budgetMs: number | undefined,
  ) {}

  tools(): readonly McpTool[] {
    return this.catalog.tools();
  }

  async call(call: McpCall): Promise<McpAnswer> {
    try {
      const result = isHandleTool(call.tool)
        ? await this.#handle(call.tool, call)
        : await this.#delegate(call);
      const isError = result.status === "failed" || result.status === "cancelled";
      return { structured: { ...result }, isError, meta: { "troupe/delegationId": result.delegation_id } };
    } catch (error) {
      return { structured: refusal(error), isError: true };
    }
  }

  progress({ callId, tool }: McpCall): string {
    const state = callId === undefined ? undefined : this.delegations.ofCall(callId);
    if (state === undefined) return `${tool}: accepted`;
    return `${state.identity.agentKey}: ${state.status ?? (state.started ? "working" : "starting")}`;
  }

  #delegate(call: McpCall): Promise<DelegationResult> {
    const { tool, input, callId } = call;
    const incoming = { tool, input, ...(callId === undefined ? {} : { callId }) };
    return this.delegations.delegate(this.#request(tool, input), incoming, this.#wait(call));
  }

  #request(tool: string, input: unknown): DelegationRequest {
    if (tool === DELEGATE_TOOL) return parseRequest(input);
    const shortcut = this.catalog.shortcut(tool);
    if (shortcut !== undefined) return taskRequest(shortcut.agent, parse(taskInput, input));
    const skill = this.catalog.skill(tool);
    if (skill !== undefined) return skillRequest(skill, input);
    throw new TroupeError<DelegationErrorCode>("invalid_input", `There is no tool "${tool}".`);
  }

  async #handle(tool: HandleTool, call: McpCall): Promise<DelegationResult> {
    switch (tool) {
      case "task_status":
        return this.delegations.result(parse(handleInputs[tool], call.input).delegation_id);
      case "task_result": {
        const { delegation_id: id, wait_seconds: seconds = 0 } = parse(handleInputs[tool], call.input);
        return this.delegations.result(id, { budgetMs: seconds * 1_000 });
      }
      case "task_cancel": {
        const { delegation_id: id, reason } = parse(handleInputs[tool], call.input);
        return this.delegations.cancel(id, reason ?? "the parent agent stopped it");
      }
      case "task_reply": {
        const { delegation_id: id, text: words, data } = parse(handleInputs[tool], call.input);
        if (words === undefined && data === undefined) {
          throw new TroupeError<DelegationErrorCode>("invalid_input", "text or data: one of them is needed");
        }
        const answer = {
          ...(words === undefined ? {} : { text: words }),
          ...(data === undefined ? {} : { data }),
        };
        return this.delegations.reply(id, answer, this.#wait(call));
      }
    }
  }

  #wait({ cancelled }: McpCall): Wait {
    return { cancelled, ...(this.budgetMs === undefined ? {} : { budgetMs: this.budgetMs }) };
  }
}

function taskRequest(agent: string, { message, context }: z.infer<typeof taskInput>): DelegationRequest {
  return { agent, objective: message, ...(context === undefined ? {} : { input: { context } }) };
}

/** A skill with a schema of its own gets its arguments as they are, as JSON. */
function skillRequest({ agent, skill, ownSchema }: SkillTool, input: unknown): DelegationRequest {
  const request = ownSchema
    ? { agent, objective: JSON.stringify(input ?? {}) }
    : taskRequest(agent, parse(taskInput, input));
  return { ...request, skillId: skill.id };
}

function parse<Schema extends z.ZodType>(schema: Schema, input: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`);
  throw new TroupeError<DelegationErrorCode>("invalid_input", problems.join("; ").slice(0, 1_000));
}

/** The answer to a call that started nothing. */
function refusal(error: unknown): Record<string, unknown> {
  const known = error instanceof TroupeError;
  const code = known ? error.code : "internal";
  const message = known ? errorText(error, 1_000) : "The host failed. Its log says why.";
  return { status: "failed", error: { code, message, retryable: known && error.retryable } };
}
