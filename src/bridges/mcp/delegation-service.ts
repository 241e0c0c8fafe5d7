import { defined } from "../../core/defined.js";
import type { RunAttachment, RunContext, RunService } from "../../core/run-service.js";
import type { DelegatingRun } from "../../delegation/delegating-run.js";
import type { Delegator } from "../../delegation/delegator.js";
import type { RemoteDirectory } from "../../delegation/directory.js";
import type { RemoteRegistry } from "../../delegation/registry.js";
import { MCP_SERVER_NAME } from "../../delegation/server-name.js";
import { DelegationToolset } from "./delegation-toolset.js";
import type { McpEndpoint } from "./endpoint.js";
import type { McpToolset } from "./tool.js";
import { type CatalogOptions, ToolCatalog } from "./tool-catalog.js";

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
  /** `generic` and no shortcuts by default. */
  readonly tools?: Partial<CatalogOptions>;
  /** Milliseconds after which a call answers `working` and the delegation goes on; without end by default. */
  readonly syncBudgetMs?: number;
  /**
   * Asks the remotes' questions through the MCP client as well, where it can show a form. Off by default: a program that the host
   * drives would ask the same person twice.
   */
  readonly elicitation?: boolean;
  /** Runs whose parent is not driven: they may get other tools, and their client's person is asked in any case. */
  readonly external?: { readonly has: (runId: string) => boolean; readonly catalog: ToolCatalog };
  /** Gets the tools of a run when it begins, for parents that are served otherwise than by the endpoint. */
  readonly opened?: (runId: string, toolset: McpToolset) => void;
  /** What else the host knows of a run: whose it is, and what led to it. */
  readonly describeRun?: (run: RunContext) => Omit<DelegatingRun, "runId" | "thread">;
}

/** Gives each run the delegation tool, by an MCP server of its own behind the host's endpoint. */
export function createDelegationService(options: DelegationServiceOptions): RunService {
  const {
    delegator,
    registry,
    endpoint,
    url,
    tools,
    syncBudgetMs,
    elicitation = false,
    describeRun,
  } = options;
  const { clock } = delegator.options;
  const catalogs = new WeakMap<RemoteDirectory, ToolCatalog>();
  const catalogOf = (directory: RemoteDirectory): ToolCatalog => {
    const known = catalogs.get(directory);
    const catalog = known ?? new ToolCatalog(directory, { toolset: "generic", shortcuts: [], ...tools });
    catalogs.set(directory, catalog);
    return catalog;
  };
  return {
    name: MCP_SERVER_NAME,
    async attach(run: RunContext): Promise<RunAttachment> {
      const { runId, thread = runId } = run;
      const described = describeRun?.(run) ?? {};
      const delegations = delegator.openRun({ runId, thread, ...described });
      const directory = registry.forTenant(described.tenant);
      const external = options.external?.has(runId) ? options.external : undefined;
      const catalog = external?.catalog ?? catalogOf(directory);
      const toolset = new DelegationToolset(delegations, catalog, {
        clock,
        elicitation: elicitation || external !== undefined,
        ...defined({ budgetMs: syncBudgetMs }),
      });
      options.opened?.(runId, toolset);
      const access = endpoint.addRun(run.token, toolset);
      const ignoreChanges = registry.onChange(() => access.toolsChanged());
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
            parallel: true,
          },
        ],
        observe: (event) => delegations.observe(event),
        cancel: (reason) => delegations.cancelAll(reason),
        async detach(outcome) {
          access.revoke();
          ignoreChanges();
          const cancelled = outcome === "cancelled";
          await delegations.close(cancelled ? "the run was cancelled" : "the run ended", cancelled);
          await access.close();
        },
      };
    },
  };
}
