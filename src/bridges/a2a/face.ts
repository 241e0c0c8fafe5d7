import type { Clock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import type { CreateId } from "../../core/ids.js";
import type { Journal } from "../../journal/journal.js";
import type { FaceAnswer, FaceRequest } from "./answer.js";
import { agentCard, type CardSetup, extendedCard, type ServedCard, servedCard } from "./card.js";
import type { FaceCaller, FaceEvent, FaceRuns } from "./face-host.js";
import { FaceHandler } from "./handler.js";
import { JsonRpcFace } from "./json-rpc.js";
import { type A2aAgentOptions, type A2aInboundAuth, exposurePolicy } from "./options.js";
import { RestFace } from "./rest.js";
import { FaceTasks } from "./tasks.js";

/** What {@link A2aFace} works with. */
export interface A2aFaceOptions {
  /** The agents that are shown, and how. */
  readonly agents: ReadonlyMap<string, A2aAgentOptions & { readonly name: string }>;
  readonly runs: FaceRuns;
  readonly journal: Journal<FaceEvent>;
  /** The journal's key of a caller's thread. */
  readonly threadKey: (caller: FaceCaller, threadId: string) => string;
  /** The name of an agent in lineages, which no agent of another host has. Without it circles are not seen here. */
  readonly identityOf?: (agent: string) => string;
  readonly clock: Clock;
  readonly createId: CreateId;
  /** On the cards. */
  readonly version: string;
  /** Shown on the cards; whoever mounts the face checks it. */
  readonly auth?: A2aInboundAuth;
  /** Milliseconds that an ended task is remembered. Default one hour. */
  readonly taskTtlMs?: number;
  /** Ended tasks that are remembered. Default 1,000. */
  readonly maxEndedTasks?: number;
  /** How long a cancel waits for the run to be over, in milliseconds. Default 10,000. */
  readonly cancelWaitMs?: number;
  /** Milliseconds after which a task that somebody waited for is cancelled when nobody does any more; never when absent. */
  readonly disconnectGraceMs?: number;
}

interface Shown {
  readonly jsonRpc: JsonRpcFace;
  readonly rest: RestFace;
  readonly setup: CardSetup;
  /** The last card that was served, and where. */
  served?: { readonly url: string; readonly card: ServedCard };
}

const HOUR = 3_600_000;

/** Agents of a host as A2A servers. It knows requests and answers, but no routes. */
export class A2aFace {
  readonly #shown = new Map<string, Shown>();

  constructor(options: A2aFaceOptions) {
    const { agents, runs, journal, threadKey, clock, createId, version, auth, disconnectGraceMs } = options;
    const tasks = new FaceTasks({
      agents: new Map(
        [...agents].map(([key, { exposure, asks }]) => [
          key,
          { exposure: exposurePolicy(exposure), asks: asks !== "host" },
        ]),
      ),
      runs,
      journal,
      threadKey,
      clock,
      createId,
      ttlMs: options.taskTtlMs ?? HOUR,
      maxEnded: options.maxEndedTasks ?? 1_000,
      ...defined({ disconnectGraceMs }),
    });
    for (const [key, agent] of agents) {
      const setup: CardSetup = { ...agent, key, version, auth };
      const handler = new FaceHandler({
        agent: key,
        identity: options.identityOf?.(key),
        tasks,
        card: () => agentCard(setup, ""),
        extendedCard: agent.extended === undefined ? undefined : (url) => extendedCard(setup, url),
        cancelWaitMs: options.cancelWaitMs ?? 10_000,
      });
      this.#shown.set(key, { jsonRpc: new JsonRpcFace(handler), rest: new RestFace(handler), setup });
    }
  }

  /** The agents that are shown. */
  get agents(): readonly string[] {
    return [...this.#shown.keys()];
  }

  /** Answers a JSON-RPC request; `undefined` when the agent is not shown. */
  async jsonRpc(agent: string, request: FaceRequest): Promise<FaceAnswer | undefined> {
    return this.#shown.get(agent)?.jsonRpc.answer(request);
  }

  /** Answers a REST request; `undefined` when the agent is not shown or the path is no operation. */
  async rest(agent: string, request: FaceRequest): Promise<FaceAnswer | undefined> {
    return this.#shown.get(agent)?.rest.answer(request);
  }

  /** The card of an agent that is reached at `url`. */
  card(agent: string, url: string): ServedCard | undefined {
    const shown = this.#shown.get(agent);
    if (shown === undefined) return undefined;
    if (shown.served?.url !== url) shown.served = { url, card: servedCard(shown.setup, url) };
    return shown.served.card;
  }
}
