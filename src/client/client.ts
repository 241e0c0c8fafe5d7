import type { ApprovalDecision } from "../core/approval.js";
import { type Clock, sleep, systemClock } from "../core/clock.js";
import type { RemoteProtocol } from "../delegation/events.js";
import type { Cursor } from "../journal/journal.js";
import { ClientError, errorOfResponse } from "./client-error.js";
import { type DelegationRecord, parseDelegationRecord } from "./delegation-record.js";
import { streamThread, type ThreadFrame } from "./event-stream.js";
import { createClientId } from "./ids.js";
import { globalFetch, type HeadersSource, headersNow, hostUrl, send } from "./request.js";
import type { StreamState } from "./stream-state.js";
import { parseThreadPage, type ThreadPage } from "./thread-listing.js";

/** Options of {@link createClient}. */
export interface ClientOptions {
  /** Address of the host, e.g. `http://127.0.0.1:4100`; may have a path. */
  readonly baseUrl: string;
  readonly fetch?: typeof fetch;
  readonly headers?: HeadersSource;
  readonly clock?: Clock;
}

/** A local agent that a host runs. */
export interface AgentListing {
  readonly key: string;
  readonly name: string;
  readonly driver: string;
}

/** A remote agent that a host's agents may call. */
export interface SubAgentListing {
  readonly key: string;
  readonly name: string;
  readonly protocol: RemoteProtocol;
  readonly description: string;
  readonly skills: readonly { readonly id: string; readonly name: string }[];
  readonly status: "ready" | "unreachable" | "unknown";
}

/** Who can be asked, and whom they can ask. */
export interface HostListing {
  readonly agents: readonly AgentListing[];
  readonly subAgents: readonly SubAgentListing[];
}

/** One message of a person to an agent. */
export interface StartRunRequest {
  readonly agent: string;
  readonly threadId: string;
  readonly text: string;
  /** Default: a new one. The same `(threadId, runId)` never starts a second run. */
  readonly runId?: string;
  readonly messageId?: string;
  readonly signal?: AbortSignal;
}

/** The names of a run that a host has taken on. */
export interface StartedRun {
  readonly threadId: string;
  readonly runId: string;
  readonly messageId: string;
}

/** What {@link Client.streamThread} takes. */
export interface StreamRequest {
  readonly after?: Cursor;
  readonly signal?: AbortSignal;
  readonly onState?: (state: StreamState) => void;
}

/** A connection to one host. Every request that fails rejects with a {@link ClientError}. */
export interface Client {
  listAgents(signal?: AbortSignal): Promise<HostListing>;
  /**
   * The threads that the host knows of, the latest first.
   * @param before `next` of the page before.
   */
  listThreads(before?: string, signal?: AbortSignal): Promise<ThreadPage>;
  /** What is on record of a delegation. @throws ClientError `not_found`. */
  getDelegation(delegationId: string, signal?: AbortSignal): Promise<DelegationRecord>;
  /**
   * Starts a run and resolves when the host has taken it on. Its events are read with {@link Client.streamThread}. A request that
   * got no answer is repeated with the same ids, so it never starts two runs.
   */
  startRun(request: StartRunRequest): Promise<StartedRun>;
  streamThread(threadId: string, request?: StreamRequest): AsyncGenerator<ThreadFrame, void, undefined>;
  /** Resolves when the host has noted it; the run's terminal event follows in its thread. */
  cancelRun(runId: string, reason?: string): Promise<void>;
  cancelDelegation(delegationId: string, reason?: string): Promise<void>;
  /**
   * Answers what a remote asks, in words or as data by the question's schema.
   * @throws ClientError `conflict` when it asks nothing, or not any more.
   */
  answerDelegation(
    delegationId: string,
    answer: { readonly text?: string; readonly data?: unknown },
  ): Promise<void>;
  /** @throws ClientError `conflict` when it was decided before. */
  decideApproval(approvalId: string, decision: ApprovalDecision): Promise<void>;
  /** Where the bytes of an artifact are. */
  artifactUrl(delegationId: string, artifactId: string): string;
}

const ANSWER_MS = 30_000;
const START_ATTEMPTS = 3;
const START_RETRY_MS = 500;

/** Makes a {@link Client}. Connects to nothing by itself. */
export function createClient(options: ClientOptions): Client {
  const clock = options.clock ?? systemClock;
  const fetchFunction = options.fetch ?? globalFetch;

  async function request(
    path: string,
    init: RequestInit,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const bounded = new AbortController();
    const leave = () => bounded.abort(signal?.reason);
    if (signal?.aborted) leave();
    signal?.addEventListener("abort", leave, { once: true });
    const timer = clock.timer(ANSWER_MS, () =>
      bounded.abort(
        new ClientError("unreachable", `The host did not answer within ${ANSWER_MS / 1000} seconds.`),
      ),
    );
    try {
      const headers = { accept: "application/json", ...(await headersNow(options.headers)), ...init.headers };
      const response = await send(
        fetchFunction,
        hostUrl(options.baseUrl, path),
        { ...init, headers },
        bounded.signal,
      );
      if (!response.ok) throw await errorOfResponse(response);
      return response;
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", leave);
    }
  }

  const post = (path: string, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    request(
      path,
      {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      },
      signal,
    );

  async function act(path: string, body: unknown): Promise<void> {
    drop(await post(path, body));
  }

  return {
    async listAgents(signal) {
      const response = await request("/agents", { cache: "no-store" }, signal);
      return parseListing(await response.json().catch(() => undefined));
    },

    async listThreads(before, signal) {
      const query = before === undefined ? "" : `?before=${encodeURIComponent(before)}`;
      const response = await request(`/threads${query}`, { cache: "no-store" }, signal);
      return parseThreadPage(await response.json().catch(() => undefined));
    },

    async getDelegation(delegationId, signal) {
      const path = `/delegations/${encodeURIComponent(delegationId)}`;
      const response = await request(path, { cache: "no-store" }, signal);
      return parseDelegationRecord(await response.json().catch(() => undefined));
    },

    async startRun({
      agent,
      threadId,
      text,
      signal,
      runId = createClientId("run"),
      messageId = createClientId("msg"),
    }) {
      const input = {
        threadId,
        runId,
        protocolVersion: "1.0",
        messages: [{ id: messageId, role: "user", content: text }],
        state: {},
        tools: [],
        context: [],
        forwardedProps: {},
      };
      const path = `/agents/${encodeURIComponent(agent)}/run?subagents=custom`;
      for (let attempt = 1; ; attempt++) {
        try {
          drop(await post(path, input, { accept: "text/event-stream" }, signal));
          return { threadId, runId, messageId };
        } catch (error) {
          if (signal?.aborted || attempt === START_ATTEMPTS) throw error;
          if (!(error instanceof ClientError) || error.code !== "unreachable") throw error;
        }
        await sleep(clock, START_RETRY_MS * attempt, signal);
      }
    },

    streamThread: (threadId, request = {}) =>
      streamThread({
        ...request,
        baseUrl: options.baseUrl,
        threadId,
        clock,
        fetch: fetchFunction,
        ...withHeaders(options),
      }),

    cancelRun: (runId, reason) =>
      act(`/runs/${encodeURIComponent(runId)}/cancel`, reason === undefined ? {} : { reason }),

    cancelDelegation: (delegationId, reason) =>
      act(`/delegations/${encodeURIComponent(delegationId)}/cancel`, reason === undefined ? {} : { reason }),

    answerDelegation: (delegationId, answer) =>
      act(`/delegations/${encodeURIComponent(delegationId)}/input`, answer),

    decideApproval: (approvalId, decision) => act(`/approvals/${encodeURIComponent(approvalId)}`, decision),

    artifactUrl: (delegationId, artifactId) =>
      hostUrl(
        options.baseUrl,
        `/delegations/${encodeURIComponent(delegationId)}/artifacts/${encodeURIComponent(artifactId)}`,
      ),
  };
}

function withHeaders(options: ClientOptions): { headers?: HeadersSource } {
  return options.headers === undefined ? {} : { headers: options.headers };
}

/** Leaves an answer's body unread. For a run's own stream that is only a detach. */
function drop(response: Response): void {
  response.body?.cancel().catch(() => undefined);
}

function parseListing(value: unknown): HostListing {
  const { agents, subAgents } = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if (!Array.isArray(agents))
    throw new ClientError("protocol_error", "The host's list of agents could not be read.");
  return {
    agents: agents
      .filter(isKeyed)
      .map(({ key, name, driver }) => ({ key, name: asText(name) || key, driver: asText(driver) })),
    subAgents: (Array.isArray(subAgents) ? subAgents : []).filter(isKeyed).map(parseSubAgent),
  };
}

function parseSubAgent(value: { key: string } & Record<string, unknown>): SubAgentListing {
  const { key, name, protocol, description, skills, status } = value;
  return {
    key,
    name: asText(name) || key,
    protocol: protocol === "agui" || protocol === "local" ? protocol : "a2a",
    description: asText(description),
    skills: (Array.isArray(skills) ? skills : [])
      .filter((skill): skill is { id: string; name?: unknown } => typeof skill?.id === "string")
      .map((skill) => ({ id: skill.id, name: asText(skill.name) || skill.id })),
    status: status === "ready" || status === "unreachable" ? status : "unknown",
  };
}

function isKeyed(value: unknown): value is { key: string } & Record<string, unknown> {
  return typeof value === "object" && value !== null && typeof (value as { key?: unknown }).key === "string";
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
