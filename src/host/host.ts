import type { SubagentEncoding } from "../bridges/agui/encoder.js";
import type { ThreadEntry, ThreadEvent } from "../bridges/agui/event.js";
import { createDelegationService, MCP_INSTRUCTIONS } from "../bridges/mcp/delegation-service.js";
import { McpEndpoint } from "../bridges/mcp/endpoint.js";
import type { ServeGuest } from "../bridges/mcp/guest-sessions.js";
import type { McpStreams } from "../bridges/mcp/stdio.js";
import { ToolCatalog, type Toolset } from "../bridges/mcp/tool-catalog.js";
import type { Agent } from "../core/agent.js";
import { type Clock, systemClock, withinTime } from "../core/clock.js";
import { defined } from "../core/defined.js";
import { TroupeError } from "../core/errors.js";
import { type CreateId, createId as defaultCreateId } from "../core/ids.js";
import { logText } from "../core/log-text.js";
import type { Run } from "../core/run.js";
import type { RunService } from "../core/run-service.js";
import type { ThreadChoice } from "../core/thread.js";
import { ArtifactLinks } from "../delegation/artifact-links.js";
import { type ArtifactStore, createMemoryArtifactStore } from "../delegation/artifacts.js";
import type { DelegatingRun } from "../delegation/delegating-run.js";
import { Delegator } from "../delegation/delegator.js";
import type { RemoteState } from "../delegation/directory.js";
import { lineageOf } from "../delegation/lineage.js";
import type { DelegationPolicy } from "../delegation/policy.js";
import { ProbeWatch } from "../delegation/probe-watch.js";
import { RemoteRegistry } from "../delegation/registry.js";
import type { RemoteInput } from "../delegation/remote.js";
import { canTakeOver, takeOver } from "../delegation/takeover.js";
import { parseTraceparent } from "../delegation/trace-context.js";
import { endOrphans } from "../drivers/process/orphans.js";
import type { Journal } from "../journal/journal.js";
import { createMemoryJournal } from "../journal/memory-journal.js";
import { openHostTelemetry } from "../telemetry/host-telemetry.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { VERSION } from "../version.js";
import { HEARTBEAT_MS } from "../wire/limits.js";
import { type A2aHostOptions, createHostedFace } from "./a2a-host.js";
import { isBusy } from "./activity.js";
import { createApp, isLoopback } from "./app.js";
import { type Authorise, tenantOf, threadIdOf, threadKey } from "./authoriser.js";
import { Commands } from "./commands.js";
import { serveOnStreams } from "./external-parent.js";
import { LateWork } from "./late-work.js";
import { type Listener, listen } from "./listener.js";
import { createLocalHost } from "./local-agents.js";
import { Presence } from "./presence.js";
import { recordedRuns } from "./recorded-run.js";
import { closeAbandoned, type Heir, type RecoveryOptions, watchAbandoned } from "./recovery.js";
import { runEntries } from "./run-entries.js";
import { Runs, type RunsOptions } from "./runs.js";
import { type SubAgent, SubAgents } from "./sub-agents.js";
import { WorkspaceDoor } from "./workspace-door.js";
import { consoleUrl, WorkspaceRuns } from "./workspace-runs.js";
import type { WorkspaceOptions } from "./workspace-token.js";

/** Options of {@link createHost}. */
export interface HostOptions {
  /** Local agents by the key that routes name them with. */
  readonly agents: Readonly<Record<string, Agent>>;
  /** Agents that the local ones may call: remote ones, and others of this host. */
  readonly subAgents?: readonly SubAgent[];
  /** Policy of all sub-agents; each one's own goes before it. */
  readonly policy?: Partial<DelegationPolicy>;
  /** In memory by default. */
  readonly journal?: Journal<ThreadEvent>;
  readonly artifacts?: ArtifactStore;
  /** Required to listen anywhere but on loopback. */
  readonly authorise?: Authorise;
  /** Names under which the host may be asked for, beside the loopback ones. */
  readonly hostnames?: readonly string[];
  /** Where remotes reach this host, for files that go to them by reference. */
  readonly publicUrl?: string;
  /** Origins of other pages that may call the routes. */
  readonly origins?: readonly string[];
  /** What happens to a run that nobody watches any more: `cancel` (default) after the grace, or `continue`. */
  readonly onDisconnect?: "cancel" | "continue";
  /** Milliseconds; default 30,000. */
  readonly disconnectGraceMs?: number;
  /** Which tools the model gets: `generic` (default), `skills` or `both`. */
  readonly toolset?: Toolset;
  /** Keys of sub-agents that get a `delegate_to_<key>_agent` tool of their own. */
  readonly shortcuts?: readonly string[];
  /** Milliseconds after which a delegating call answers `working`, and the delegation goes on; without end by default. */
  readonly syncBudgetMs?: number;
  /**
   * Asks the remotes' questions through the parent's MCP client as well, where it can show a form. Off by default: a program that
   * the host drives would ask the same person twice.
   */
  readonly elicitation?: boolean;
  /** How subagents are encoded for clients that do not say what they know. */
  readonly subagents?: SubagentEncoding;
  /** Runs at once, each of which has a program of its own; more are refused with `host_busy`. Default 100. */
  readonly maxActiveRuns?: number;
  /** Milliseconds of silence before a stream gets a comment; default 15,000. */
  readonly heartbeatMs?: number;
  /** Agents of the host that A2A clients may call; none by default. */
  readonly a2a?: A2aHostOptions;
  /** Lets in external parents: MCP clients that this host does not drive. None by default. */
  readonly workspace?: WorkspaceOptions;
  /** How long the sub-agents get to answer when the host starts, in milliseconds; default 5,000. */
  readonly probeTimeoutMs?: number;
  /** Tells the host's operators what happens in it: `openTelemetry()`, `sideband(…)`; nothing by default. */
  readonly telemetry?: readonly Telemetry[];
  /** How often the host looks for runs that others left open when they died, in milliseconds; default 15,000. */
  readonly takeoverMs?: number;
  readonly clock?: Clock;
  readonly createId?: CreateId;
}

/** Options of {@link Host.run}; all ids are made up by default. */
export interface HostRunOptions extends ThreadChoice {
  readonly threadId?: string;
  readonly runId?: string;
}

/** A run that was started in code. */
export interface HostRun {
  readonly runId: string;
  readonly threadId: string;
  readonly run: Run;
  /** The run's entries in the journal, its delegations' included; ends with its terminal event. */
  readonly entries: AsyncIterable<ThreadEntry>;
}

/** A host: agents, the remotes they may call, one journal, and its faces. */
export interface Host {
  /** Answers a request to any of the routes; mount it into any framework that speaks Web standards. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Where the parents' MCP endpoint listens. */
  readonly mcpUrl: string;
  /**
   * Runs an agent in code. It goes on without readers.
   * @throws TroupeError `agent_not_found`, `thread_busy`, `host_closed`, or `invalid_input` for the id of a run that is over.
   */
  run(agent: string, prompt: string, options?: HostRunOptions): HostRun;
  /**
   * Answers what a delegation asks, as `POST /delegations/:id/input` does.
   * @throws TroupeError `nothing_asked`, `capability_unsupported`, or why the remote did not take it.
   */
  answer(delegationId: string, input: RemoteInput): Promise<void>;
  /**
   * Gives the sub-agents' tools to an MCP client on a pair of streams. Its calls stand in a run, and a thread, of their own.
   * Resolves when the client is gone and its delegations are over, or go on by policy.
   * @throws TroupeError `invalid_input` on a host without sub-agents.
   */
  serveMcp(streams: McpStreams): Promise<void>;
  /**
   * Puts other agents and sub-agents in the place of those that there are. What runs goes on with the agent or remote that it began
   * with; what begins from now on, a delegation of such a run too, gets the new ones. What A2A clients may call stays as it is.
   * @throws TroupeError `invalid_input` for names that cannot be used; then nothing is changed.
   */
  update(next: Pick<HostOptions, "agents" | "subAgents" | "policy">): void;
  /**
   * Asks all sub-agents what they are. Who does not answer is reported, and from now on asked again ever less often, every minute in
   * the end, and whenever it is called.
   */
  probe(): Promise<RemoteState[]>;
  /**
   * Listens for HTTP.
   * @param options `hostname` 127.0.0.1 and `port` 4100 by default; port 0 takes a free one.
   * @throws TroupeError `authoriser_required` for any address beyond loopback without an authoriser.
   */
  listen(options?: { readonly hostname?: string; readonly port?: number }): Promise<{ readonly url: string }>;
  /** Whether anything runs, or anybody is connected. */
  busy(): Promise<boolean>;
  /** Starts no more runs. Resolves when those that run are over, or after so many milliseconds. */
  drain(milliseconds: number): Promise<void>;
  /**
   * Cancels what runs, then releases everything. Delegations that go on without their run are stopped too, unless the journal
   * outlives the host: then they are left to the next one.
   */
  close(): Promise<void>;
}

/** Puts a host together, and opens its MCP endpoint on a loopback port of its own. */
export async function createHost(options: HostOptions): Promise<Host> {
  const clock = options.clock ?? systemClock;
  const createId = options.createId ?? defaultCreateId;
  const journal = options.journal ?? createMemoryJournal<ThreadEvent>({ clock });
  const artifacts = options.artifacts ?? createMemoryArtifactStore();
  const agents = new Map(Object.entries(options.agents));
  const local = createLocalHost({ agents, journal, runs: () => runs });
  const links = options.publicUrl === undefined ? undefined : new ArtifactLinks(sharedUrl(options.publicUrl));
  const subAgents = new SubAgents(local, links !== undefined);
  const registry = new RemoteRegistry(subAgents.remotes(options.subAgents, options.policy), clock);
  const { probeTimeoutMs = 5_000 } = options;
  const probing = new ProbeWatch(registry, clock, probeTimeoutMs);
  const hostId = createId("host");
  const identityOf = (agent: string) => `${hostId}/${agent}`;
  const telemetry = await openHostTelemetry(options.telemetry ?? [], {
    journal,
    clock,
    describeThread: (thread) => ({
      threadId: threadIdOf(thread),
      ...(tenantOf(thread) === "" ? {} : { tenant: tenantOf(thread) }),
    }),
    onError: (error) => console.error("Telemetry:", logText(error)),
  });
  const observed = (run: DelegatingRun, event: ThreadEvent, appended: Promise<ThreadEntry>) => {
    telemetry?.recorded(run, event, appended);
    return appended;
  };
  const delegator = new Delegator({
    registry,
    artifacts,
    clock,
    createId,
    onError: (error) => console.error("Unexpected error in a delegation:", logText(error)),
    record: (run, event) => observed(run, event, lateWork.recordDelegation(run, event)),
    ...defined({ links, starting: telemetry?.delegationStarting }),
  });
  const detachAll = (thread: string) => delegator.detachAll(thread);
  const { courier } = journal;
  const commands = new Commands({
    runs: () => runs,
    delegator: () => delegator,
    lateWork: () => lateWork,
    courier,
  });
  const lateWork = new LateWork({
    journal,
    createId,
    detachAll,
    makeWay: (thread) => commands.askToMakeWay(thread),
    onTakenOver: ({ thread, runId }) => {
      delegator.surrender({ thread, runId });
      void runs.find(thread, runId)?.run?.cancel("nothing more of this run is recorded here");
    },
  });
  const onRecoveryError = (error: unknown) =>
    console.error("An earlier host's run was not closed:", logText(error));
  const heir: Heir = {
    canTakeOver: (abandoned) => canTakeOver(delegator, abandoned),
    takeOver: (abandoned) => takeOver(delegator, abandoned),
  };
  const endPrograms: RecoveryOptions["endPrograms"] = (runs) => void endOrphans(runs, clock);
  const recovery = { journal, createId, heir, endPrograms, onError: onRecoveryError };
  await commands.serve();
  const left = await closeAbandoned(recovery);
  const stopLooking = watchAbandoned(recovery, clock, options.takeoverMs ?? 15_000, left);
  const externalTools = new ToolCatalog(registry.forTenant(""), {
    toolset: options.workspace?.toolset ?? options.toolset ?? "generic",
    shortcuts: options.shortcuts ?? [],
  });
  const external = new WorkspaceRuns({
    catalog: externalTools,
    runs: () => runs,
    delegator,
    journal,
    clock,
    createId,
    watchUrl: (threadId) => consoleUrl(listeningAt, threadId),
  });
  /** Where the console can be opened. */
  let listeningAt: string | undefined;
  const guests = {
    admit: (token: string) => options.workspace?.access.admit(token),
    open: (serve: ServeGuest) => openExternal(serve, options.workspace?.graceMs ?? 10_000),
    onToolsChanged: (listener: () => void) => registry.onChange(listener),
  };
  const openExternal = async (serve: ServeGuest, graceMs: number): Promise<void> => {
    if (registry.keys().length === 0)
      throw new TroupeError("invalid_input", "There are no sub-agents to give to an MCP client.");
    await external.open(serve, graceMs);
  };
  const endpoint = new McpEndpoint({ clock, instructions: MCP_INSTRUCTIONS, version: VERSION, guests });
  const door = options.workspace && new WorkspaceDoor({ ...options.workspace, guests, clock });
  const mcp = await listen(
    (request) =>
      door !== undefined && new URL(request.url).pathname === "/workspace"
        ? door.greet(request)
        : endpoint.fetch(request),
    "127.0.0.1",
    0,
    door && ((...connection) => door.upgrade(...connection)),
  );
  const mcpUrl = `http://127.0.0.1:${mcp.port}/mcp`;
  const delegation = createDelegationService({
    delegator,
    registry,
    endpoint,
    url: mcpUrl,
    tools: { toolset: options.toolset ?? "generic", shortcuts: options.shortcuts ?? [] },
    ...defined({ syncBudgetMs: options.syncBudgetMs }),
    elicitation: options.elicitation ?? false,
    opened: (runId, toolset) => external.opened(runId, toolset),
    external: {
      has: (runId) => external.has(runId),
      catalog: externalTools,
    },
    describeRun: ({ thread, agent, metadata }) => ({
      tenant: thread === undefined ? "" : tenantOf(thread),
      agent: identityOf(agent),
      lineage: lineageOf(metadata),
      ...defined({ traceparent: parseTraceparent(metadata?.traceparent) }),
    }),
  });
  const services: RunService[] = [
    {
      name: delegation.name,
      // Without sub-agents nothing changes for an agent.
      attach: async (run) =>
        registry.keys().length === 0 ? { detach: async () => undefined } : delegation.attach(run),
    },
  ];
  const record: RunsOptions["record"] = (thread, runId, event) =>
    observed({ thread, runId }, event, lateWork.recordRun(thread, runId, event));
  const recorded: RunsOptions["recorded"] = (...run) => recordedRuns(journal, ...run);
  const runs = new Runs({
    agents,
    record,
    services,
    clock,
    recorded,
    ...defined({ starting: telemetry?.runStarting, maxActive: options.maxActiveRuns }),
  });
  const graceMs = options.onDisconnect === "continue" ? undefined : (options.disconnectGraceMs ?? 30_000);
  const identityOfKey = (key: string) => identityOf(agents.get(key)?.name ?? key);
  const presence = new Presence({ runs, commands, clock, courier, graceMs });
  const a2a =
    options.a2a &&
    createHostedFace({ ...defined({ publicUrl: options.publicUrl }), ...options.a2a }, agents, {
      runs: {
        start: (wanted) => runs.start(wanted),
        find: (thread, runId) => runs.find(thread, runId),
        reading: (thread) => presence.reading(thread),
        cancel: async (run, reason) => void (await commands.cancelRun(run, reason)),
        decide: (...decision) => commands.decide(...decision),
      },
      journal,
      threadKey,
      identityOf: identityOfKey,
      clock,
      createId,
      ...defined({ disconnectGraceMs: graceMs }),
    });
  const app = createApp(
    {
      agents,
      identityOf: identityOfKey,
      runs,
      commands,
      presence,
      journal,
      delegator,
      registry,
      artifacts,
      clock,
      heartbeatMs: options.heartbeatMs ?? HEARTBEAT_MS,
      ...defined({ disconnectGraceMs: graceMs, subagents: options.subagents, links, a2a }),
    },
    {
      hostnames: options.hostnames ?? [],
      origins: options.origins ?? [],
      ...defined({ authorise: options.authorise }),
    },
  );
  const listeners: Listener[] = [mcp];
  const fetch = async (request: Request) => app.fetch(request);

  return {
    fetch,
    mcpUrl,
    run(agent, prompt, options = {}) {
      const { threadId = createId("thread"), runId = createId("run"), threadMode } = options;
      const thread = threadKey({}, threadId);
      const threadFrom = options.threadFrom === undefined ? undefined : threadKey({}, options.threadFrom);
      const messages = [{ id: createId("msg"), text: prompt }];
      const record = runs.start({ agent, thread, runId, messages, ...defined({ threadMode, threadFrom }) });
      if (record.run === undefined)
        throw new TroupeError("invalid_input", `Run ${runId} of this thread is over.`);
      return { runId, threadId, run: record.run, entries: runEntries(journal, record) };
    },
    answer: (delegationId, input) => delegator.reply(delegationId, input),
    serveMcp: (streams) => openExternal(serveOnStreams(streams, clock), 0),
    update(next) {
      const gone = registry.replace(subAgents.remotes(next.subAgents, next.policy));
      for (const remote of gone) void delegator.free(remote).then(() => remote.close());
      for (const key of agents.keys()) if (!Object.hasOwn(next.agents, key)) agents.delete(key);
      for (const [key, agent] of Object.entries(next.agents)) agents.set(key, agent);
    },
    probe: () => registry.probe(probeTimeoutMs),
    async listen({ hostname = "127.0.0.1", port = 4100 } = {}) {
      if (!isLoopback(hostname) && options.authorise === undefined) {
        throw new TroupeError(
          "authoriser_required",
          `Refusing to listen on ${hostname}: everybody who reaches it could run agents. Give the host an \`authorise\` function, or listen on 127.0.0.1.`,
        );
      }
      const listener = await listen(fetch, hostname, port);
      listeners.push(listener);
      const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${listener.port}`;
      if (isLoopback(hostname)) listeningAt ??= url;
      return { url };
    },
    busy: () => isBusy(runs, delegator, listeners),
    async drain(milliseconds) {
      external.drain();
      await withinTime(clock, milliseconds, runs.drain());
    },
    async close() {
      probing.close();
      await stopLooking();
      const clientsGone = external.close();
      await runs.close();
      await clientsGone;
      await delegator.close("the host is closing", journal.adopt !== undefined);
      await endpoint.close();
      door?.close();
      await telemetry?.close();
      await journal.close();
      await Promise.all(listeners.map((listener) => listener.close()));
      await registry.close();
    },
  };
}

function sharedUrl(publicUrl: string): string {
  if (URL.canParse(publicUrl) && /^https?:$/.test(new URL(publicUrl).protocol))
    return `${publicUrl.replace(/\/$/, "")}/shared/`;
  throw new TroupeError("invalid_input", "publicUrl must be an absolute http or https URL.");
}
