import { AgentCard } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { systemClock } from "../../core/clock.js";
import { createGuardedFetch, type GuardedFetch } from "../../wire/guarded-fetch.js";
import { parseJson } from "../../wire/json.js";
import { MAX_EVENT_BYTES } from "../../wire/limits.js";
import type { Card, CardInterface } from "./card.js";
import { chooseInterface } from "./card-interface.js";
import { CardSource } from "./card-source.js";
import { type A2aOptions, credentialHeaders, entryOrigins } from "./options.js";

const DEFAULT_IDLE_TIMEOUT_MS = 600_000;

/** A way to call the agent, as its card says at the moment. */
export interface Connection {
  readonly card: Card;
  readonly interface: CardInterface;
  readonly client: Client;
}

/** Keeps the connection to one agent in step with its card. */
export class Connector {
  readonly #options: A2aOptions;
  readonly #cards: CardSource;
  readonly #guard: GuardedFetch;
  #current: Connection | undefined;

  constructor(options: A2aOptions) {
    this.#options = options;
    this.#cards = new CardSource(options);
    const { limits, auth, clock = systemClock } = options;
    const credential = credentialHeaders(auth);
    this.#guard = createGuardedFetch({
      clock,
      origins: entryOrigins(options),
      credential: () => credential,
      maxEventBytes: limits?.maxEventBytes ?? MAX_EVENT_BYTES,
      checkEventData: (data) => void parseJson(data),
      idleTimeoutMs: limits?.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      // An error that is JSON may be the protocol's own, which the client reads.
      acceptStatus: isJson,
      ...(limits?.maxResponseBytes === undefined ? {} : { maxResponseBytes: limits.maxResponseBytes }),
      ...(limits?.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: limits.connectTimeoutMs }),
    });
  }

  /**
   * The connection, after a look at the card if it is not fresh.
   * @throws TroupeError `agent_unavailable`, `capability_unsupported` or `policy_denied`; or the signal's reason
   */
  async connect(signal: AbortSignal): Promise<Connection> {
    const { card, url } = await this.#cards.get(signal);
    if (this.#current?.card.fingerprint === card.fingerprint) return this.#current;
    const chosen = chooseInterface(card, url, this.#options);
    const client = await this.#createClient(card, chosen);
    this.#current = { card, interface: chosen, client };
    return this.#current;
  }

  /** For a task that runs already: the last connection will do, however old its card is. */
  async reconnect(signal: AbortSignal): Promise<Connection> {
    return this.#current ?? this.connect(signal);
  }

  async close(): Promise<void> {
    await Promise.all([this.#cards.close(), this.#guard.close()]);
  }

  /** The client sees a card with one interface, so that its choice is ours. */
  #createClient(card: Card, chosen: CardInterface): Promise<Client> {
    const fetchImpl = this.#fetch as typeof fetch;
    const factory = new ClientFactory({
      transports: [
        new JsonRpcTransportFactory({ fetchImpl, legacyCompat: { enabled: true } }),
        new RestTransportFactory({ fetchImpl }),
      ],
      cardResolver: { resolve: () => Promise.reject(new Error("Cards are fetched elsewhere.")) },
    });
    const { url, binding: protocolBinding, version: protocolVersion, tenant } = chosen;
    return factory.createFromAgentCard(
      AgentCard.fromJSON({
        name: card.name,
        capabilities: { streaming: card.streaming },
        supportedInterfaces: [{ url, protocolBinding, protocolVersion, tenant }],
      }),
    );
  }

  /** Checks JSON bodies before the client parses them; events are checked by the guard. */
  #fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await this.#guard.fetch(input, init);
    if (!isJson(response)) return response;
    const text = await response.text();
    if (response.ok) parseJson(text);
    return new Response(text, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function isJson(response: Response): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get("content-type") ?? "");
}
