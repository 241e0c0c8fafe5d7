import { isHandleTool } from "../bridges/mcp/handle-tools.js";
import type {
  McpAnswer,
  McpCall,
  McpQuestion,
  McpTask,
  McpTasks,
  McpTool,
  McpToolset,
} from "../bridges/mcp/tool.js";
import { errorText, TroupeError } from "../core/errors.js";
import type { DelegationResult } from "../delegation/result.js";

/** What an external parent's tools ask its workspace. */
export interface WorkspaceView {
  /** The tools that know a delegation which another run of the workspace began. */
  elsewhere(delegationId: string): McpToolset | undefined;
  /** The same for one that this host has taken over from an earlier one. */
  inherited(delegationId: string): Promise<McpToolset | undefined>;
  /** The answer of a delegation that an earlier host of the workspace ended. */
  recorded(delegationId: string): Promise<DelegationResult | undefined>;
  /** Where a person can watch; `undefined` when nowhere. */
  watchUrl(): string | undefined;
}

type Reply = McpAnswer | McpQuestion | { readonly task: McpTask };

/** The tools of one external run: its handles reach all external runs of the workspace, and a person is told where to look. */
export class WorkspaceToolset implements McpToolset {
  readonly tasks: McpTasks;

  constructor(
    private readonly own: McpToolset,
    private readonly workspace: WorkspaceView,
  ) {
    this.tasks = workspaceTasks(workspace, () => own);
  }

  tools(): readonly McpTool[] {
    return this.own.tools();
  }

  progress(call: McpCall): string {
    return this.own.progress(call);
  }

  async call(call: McpCall): Promise<Reply> {
    const id = isHandleTool(call.tool) ? delegationIn(call.input) : undefined;
    if (id === undefined) return this.#shown(await this.own.call(call));
    const inherited = () => this.workspace.inherited(id).catch(() => undefined);
    const other = this.workspace.elsewhere(id) ?? (await inherited());
    if (other !== undefined) return this.#shown(await other.call(call));
    const recorded = await this.workspace.recorded(id).catch(() => undefined);
    if (recorded === undefined) return this.#shown(await this.own.call(call));
    const isError = recorded.status === "failed" || recorded.status === "cancelled";
    return { structured: { ...recorded }, isError };
  }

  /** The address goes along with what can be watched. */
  #shown(reply: Reply): Reply {
    const url = this.workspace.watchUrl();
    if (!("structured" in reply) || url === undefined || !("delegation_id" in reply.structured)) return reply;
    return { ...reply, structured: { ...reply.structured, watch_url: url } };
  }
}

/** What {@link SessionToolset} works with. */
export interface SessionToolsetOptions {
  readonly tools: () => readonly McpTool[];
  /** The tools of the session's run, which begins with this if none goes on. */
  readonly enter: () => Promise<McpToolset>;
  /** The same, if a run goes on. */
  readonly entered: () => McpToolset | undefined;
  readonly workspace: WorkspaceView;
}

/** Longest line of progress that all clients show whole. */
const MAX_LINE = 80;

/** The tools of one MCP session. Its run begins with its first call: many clients connect, and never call. */
export class SessionToolset implements McpToolset {
  readonly tasks: McpTasks;
  /** Calls whose first line was said. */
  readonly #told = new WeakSet<McpCall>();

  constructor(private readonly options: SessionToolsetOptions) {
    this.tasks = workspaceTasks(options.workspace, options.entered);
  }

  tools(): readonly McpTool[] {
    return this.options.tools();
  }

  async call(call: McpCall): Promise<Reply> {
    let toolset: McpToolset;
    try {
      toolset = await this.options.enter();
    } catch (error) {
      return refusal(error);
    }
    return toolset.call(call);
  }

  progress(call: McpCall): string {
    const line = this.options.entered()?.progress(call) ?? `${call.tool}: accepted`;
    if (this.#told.has(call)) return line;
    this.#told.add(call);
    const url = this.options.workspace.watchUrl();
    if (url === undefined || isHandleTool(call.tool)) return line;
    // A link that is cut leads nowhere; the page lists its threads.
    const first = [`${line}. Watch: ${url}`, `Watch: ${url}`, `Watch: ${new URL("/", url).href}`];
    return first.find((text) => text.length <= MAX_LINE) ?? line;
  }
}

/** Tasks of all external runs of a workspace. */
function workspaceTasks(workspace: WorkspaceView, own: () => McpToolset | undefined): McpTasks {
  const of = (id: string) => workspace.elsewhere(id)?.tasks ?? own()?.tasks;
  return {
    get: (id) => of(id)?.get(id),
    cancel: (id) => of(id)?.cancel(id) ?? false,
    update: async (id, answers) => (await of(id)?.update(id, answers)) ?? false,
  };
}

function delegationIn(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("delegation_id" in input)) return undefined;
  return typeof input.delegation_id === "string" ? input.delegation_id : undefined;
}

function refusal(error: unknown): McpAnswer {
  const known = error instanceof TroupeError;
  const code = known ? error.code : "internal";
  const message = known ? errorText(error, 1_000) : "The host failed. Its log says why.";
  const structured = { status: "failed", error: { code, message, retryable: known && error.retryable } };
  return { structured, isError: true };
}
