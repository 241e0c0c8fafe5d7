import { errorText, TroupeError } from "../../core/errors.js";
import type { RunAttachment, RunContext, RunService } from "../../core/run-service.js";
import type { Delegator, RunDelegations } from "../../delegation/delegator.js";
import type { RemoteRegistry } from "../../delegation/registry.js";
import { parseRequest } from "../../delegation/request.js";
import { createDelegateTool, DELEGATE_TOOL } from "./delegate-tool.js";
import type { McpEndpoint } from "./endpoint.js";
import type { McpAnswer, McpCall, McpTool, McpToolset } from "./tool.js";

/** Name of the MCP server inside a parent; reserved. */
export const MCP_SERVER_NAME = "a2a-subagents";

/** What a client's hard limit is set to beyond the longest delegation, in milliseconds, so that the host's deadline comes first. */
const CLIENT_MARGIN_MS = 60_000;

/** Told to the model by clients that pass on a server's instructions. */
export const MCP_INSTRUCTIONS =
  "Tools of this server hand tasks to other agents. Their progress is shown to the user live, so do not repeat it; use the result's summary and artifacts.";

/** Options of {@link createDelegationService}. */
export interface DelegationServiceOptions {
  readonly delegator: Delegator;
  readonly registry: RemoteRegistry;
  readonly endpoint: McpEndpoint;
  /** Where the endpoint listens. */
  readonly url: string;
}

/** Gives each run the delegation tool, by an MCP server of its own behind the host's endpoint. */
export function createDelegationService(options: DelegationServiceOptions): RunService {
  const { delegator, registry, endpoint, url } = options;
  const tool = createDelegateTool(registry);
  return {
    name: MCP_SERVER_NAME,
    async attach(run: RunContext): Promise<RunAttachment> {
      const delegations = delegator.openRun({ runId: run.runId, thread: run.thread ?? run.runId });
      const access = endpoint.addRun(run.token, new DelegationTools(delegations, tool));
      const longest = Math.max(
        ...registry.keys().map((key) => registry.get(key)?.policy.maxTimeoutMs ?? 0),
        0,
      );
      return {
        mcpServers: [
          {
            name: MCP_SERVER_NAME,
            transport: "http",
            url,
            headers: { Authorization: `Bearer ${run.token}` },
            timeoutMs: longest + CLIENT_MARGIN_MS,
            trusted: true,
          },
        ],
        observe: (event) => delegations.observe(event),
        cancel: (reason) => delegations.cancelAll(reason),
        async detach(outcome) {
          access.revoke();
          await delegations.close(outcome === "cancelled" ? "the run was cancelled" : "the run ended");
          await access.close();
        },
      };
    },
  };
}

class DelegationTools implements McpToolset {
  constructor(
    private readonly delegations: RunDelegations,
    private readonly tool: () => McpTool,
  ) {}

  tools(): McpTool[] {
    return [this.tool()];
  }

  async call({ tool, input, callId, cancelled }: McpCall): Promise<McpAnswer> {
    try {
      const request = parseRequest(input);
      const incoming = { tool, input, ...(callId === undefined ? {} : { callId }) };
      const result = await this.delegations.delegate(request, incoming, cancelled);
      const isError = result.status === "failed" || result.status === "cancelled";
      return { structured: { ...result }, isError, meta: { "troupe/delegationId": result.delegation_id } };
    } catch (error) {
      return { structured: refusal(error), isError: true };
    }
  }

  progress({ callId }: McpCall): string {
    const state = callId === undefined ? undefined : this.delegations.ofCall(callId);
    if (state === undefined) return `${DELEGATE_TOOL}: accepted`;
    return `${state.identity.agentKey}: ${state.status ?? (state.started ? "working" : "starting")}`;
  }
}

/** The answer to a call that started nothing. */
function refusal(error: unknown): Record<string, unknown> {
  const known = error instanceof TroupeError;
  const code = known ? error.code : "internal";
  const message = known ? errorText(error, 1_000) : "The host failed. Its log says why.";
  return { status: "failed", error: { code, message, retryable: known && error.retryable } };
}
