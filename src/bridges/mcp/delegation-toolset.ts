import { z } from "zod";
import type { Clock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import { errorText, TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import { type DelegationRequest, parseRequest } from "../../delegation/request.js";
import type { DelegationResult } from "../../delegation/result.js";
import type { RunDelegations, Wait } from "../../delegation/run-delegations.js";
import { DELEGATE_TOOL } from "./delegate-tool.js";
import { DelegationTasks } from "./delegation-tasks.js";
import { type HandleTool, isHandleTool } from "./handle-tools.js";
import { Questions } from "./questions.js";
import type { SkillTool } from "./skill-tools.js";
import type { McpAnswer, McpCall, McpQuestion, McpTask, McpTasks, McpTool, McpToolset } from "./tool.js";
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

/** Options of a {@link DelegationToolset}. */
export interface DelegationToolsetOptions {
  readonly clock: Clock;
  /** Milliseconds after which a call answers `working` and the delegation goes on; without end when absent. */
  readonly budgetMs?: number;
  /** Asks the remotes' questions through the MCP client as well. */
  readonly elicitation?: boolean;
}

/** The tools of one run: what a call says becomes a delegation, or something that is done to one. */
export class DelegationToolset implements McpToolset {
  readonly tasks: McpTasks;
  readonly #questions: Questions | undefined;

  constructor(
    private readonly delegations: RunDelegations,
    private readonly catalog: ToolCatalog,
    private readonly options: DelegationToolsetOptions,
  ) {
    this.#questions = options.elicitation ? new Questions(delegations) : undefined;
    this.tasks = new DelegationTasks(delegations, this.#questions, answerOf, options.clock);
  }

  tools(): readonly McpTool[] {
    return this.catalog.tools();
  }

  async call(call: McpCall): Promise<McpAnswer | McpQuestion | { readonly task: McpTask }> {
    try {
      const result = await this.#result(call);
      const id = result.delegation_id;
      const over = result.status !== "working" && result.status !== "needs_input";
      const task = over || !this.#becomesTask(call) ? undefined : this.tasks.get(id);
      if (task !== undefined) return { task };
      return (result.status === "needs_input" ? this.#question(call, id) : undefined) ?? answerOf(result);
    } catch (error) {
      return { structured: refusal(error), isError: true };
    }
  }

  progress({ callId, tool }: McpCall): string {
    const state = callId === undefined ? undefined : this.delegations.ofCall(callId);
    if (state === undefined) return `${tool}: accepted`;
    return `${state.identity.agentKey}: ${state.status ?? (state.started ? "working" : "starting")}`;
  }

  #result(call: McpCall): Promise<DelegationResult> {
    if (call.answers !== undefined) return this.#goOn(call, call.answers);
    return this.#first(call);
  }

  #first(call: McpCall): Promise<DelegationResult> {
    return isHandleTool(call.tool) ? this.#handle(call.tool, call) : this.#delegate(call);
  }

  async #delegate(call: McpCall): Promise<DelegationResult> {
    const { tool, input, callId, cancelled, traceparent } = call;
    const incoming = { tool, input, ...defined({ callId, traceparent }) };
    const request = this.#request(tool, input);
    const known = callId === undefined ? undefined : this.delegations.ofCall(callId)?.identity.delegationId;
    const wait = this.#becomesTask(call) ? { cancelled, budgetMs: 0 } : this.#wait(call, known);
    return this.delegations.delegate(request, incoming, wait);
  }

  /** The same call again, with what a person answered: never a new delegation. */
  async #goOn(call: McpCall, answers: Readonly<Record<string, unknown>>): Promise<DelegationResult> {
    const id = await this.#subject(call);
    if (id === undefined || this.delegations.state(id) === undefined) {
      throw new TroupeError<DelegationErrorCode>(
        "result_expired",
        "This run has no delegation that asked for this answer, or no longer.",
      );
    }
    await this.#questions?.take(id, answers);
    return call.tool === "task_result"
      ? this.#first(call)
      : this.delegations.result(id, this.#wait(call, id));
  }

  /** The delegation that a call is about. What the client carried along decides only when nothing better is known. */
  async #subject({ tool, input, callId, hint }: McpCall): Promise<string | undefined> {
    if (isHandleTool(tool)) return z.object({ delegation_id }).safeParse(input).data?.delegation_id;
    return (callId === undefined ? undefined : await this.delegations.startedBy(callId)) ?? hint;
  }

  #becomesTask({ tool, takesTask, answers }: McpCall): boolean {
    return takesTask && answers === undefined && !isHandleTool(tool);
  }

  /** What the call asks its client's person; `undefined` when the model gets the question. */
  #question(call: McpCall, id: string): McpQuestion | undefined {
    const question = this.delegations.state(id)?.question;
    const form = this.#asks(call) ? this.#questions?.form(id) : undefined;
    if (form === undefined || question === undefined) return undefined;
    this.#questions?.asking(id);
    return { form, hint: id, pointless: () => this.delegations.unasked(id, question) };
  }

  /** Whether this call waits, so that its person can be asked; the others only look, or end it. */
  #asks({ tool, input, canAsk }: McpCall): boolean {
    if (!canAsk || this.#questions === undefined) return false;
    if (tool === "task_result") return (handleInputs[tool].safeParse(input).data?.wait_seconds ?? 0) > 0;
    return tool !== "task_status" && tool !== "task_cancel";
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
        // Who stops waiting for a result does not stop the delegation.
        const { cancelled: _, ...wait } = this.#wait(call, id);
        return this.delegations.result(id, { ...wait, budgetMs: seconds * 1_000 });
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
          ...defined({ text: words, data }),
        };
        return this.delegations.reply(id, answer, this.#wait(call, id));
      }
    }
  }

  #wait(call: McpCall, id: string | undefined): Wait {
    const { budgetMs } = this.options;
    const besides = id === undefined ? undefined : this.#questions?.dismissed(id);
    return {
      cancelled: call.cancelled,
      ...defined({ budgetMs }),
      ...(this.#asks(call) ? { asks: besides === undefined ? {} : { besides } } : {}),
    };
  }
}

function answerOf(result: DelegationResult): McpAnswer {
  const isError = result.status === "failed" || result.status === "cancelled";
  return { structured: { ...result }, isError, meta: { "troupe/delegationId": result.delegation_id } };
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
