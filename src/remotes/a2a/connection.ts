import { AgentCard } from "@a2a-js/sdk";
import { ClientFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { systemClock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import type { AnswerHead } from "../../wire/exchange.js";
import { createGuardedClient, type GuardedClient } from "../../wire/guarded-client.js";
import { createGuardedFetch, type GuardedFetch } from "../../wire/guarded-fetch.js";
import { parseJson } from "../../wire/json.js";
import { MAX_EVENT_BYTES } from "../../wire/limits.js";
import type { Redactor } from "../../wire/redact.js";
import type { Card, CardInterface } from "./card.js";
import { chooseInterface } from "./card-interface.js";
import { CardSource } from "./card-source.js";
import type { CallOptions, TaskChannel } from "./channel.js";
import { Credentials } from "./credentials.js";
import { JsonRpcChannel } from "./json-rpc-channel.js";
import { type A2aOptions, type CredentialContext, entryOrigins } from "./options.js";
import { RestChannel } from "./rest-channel.js";

const DEFAULT_IDLE_TIMEOUT_MS = 600_000;

/** A way to call the agent, as its card says at the moment. */
export interface Connection {
  readonly card: Card;
  readonly interface: CardInterface;
  readonly channel: TaskChannel;
}

/** Keeps the connection to one agent in step with its card. */
export class Connector {
  readonly #options: A2aOptions;
  readonly #credentials: Credentials;
  readonly #cards: CardSource;
  readonly #guard: GuardedClient;
  /** REST is read by the SDK, so its events are checked and framed anew before. */
  readonly #framed: GuardedFetch;
  #current: Connection | undefined;

  constructor(options: A2aOptions) {
    this.#options = options;
    this.#credentials = new Credentials(options);
    this.#cards = new CardSource(options, this.#credentials);
    const { limits, clock = systemClock } = options;
    const guard = {
      clock,
      origins: entryOrigins(options),
      idleTimeoutMs: limits?.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      // An error that is JSON may be the protocol's own, which is read further up.
      acceptStatus: isJson,
      ...(limits?.maxResponseBytes === undefined ? {} : { maxResponseBytes: limits.maxResponseBytes }),
      ...(limits?.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: limits.connectTimeoutMs }),
    };
    this.#guard = createGuardedClient(guard);
    this.#framed = createGuardedFetch({
      ...guard,
      maxEventBytes: limits?.maxEventBytes ?? MAX_EVENT_BYTES,
      checkEventData: (data) => void parseJson(data),
    });
  }

  /** Removes every credential of the entry from a text. */
  get redact(): Redactor {
    return this.#credentials.redact;
  }

  /**
   * The connection, after a look at the card if it is not fresh.
   * @throws TroupeError `agent_unavailable`, `capability_unsupported` or `policy_denied`; or the signal's reason
   */
  async connect(signal: AbortSignal): Promise<Connection> {
    const { card, url } = await this.#cards.get(signal);
    if (this.#current?.card.fingerprint === card.fingerprint) return this.#current;
    const chosen = chooseInterface(card, url, this.#options);
    const channel = await this.#createChannel(card, chosen);
    this.#current = { card, interface: chosen, channel };
    return this.#current;
  }

  /** For a task that runs already: the last connection will do, however old its card is. */
  async reconnect(signal: AbortSignal): Promise<Connection> {
    return this.#current ?? this.connect(signal);
  }

  async close(): Promise<void> {
    await Promise.all([
      this.#cards.close(),
      this.#guard.close(),
      this.#framed.close(),
      this.#credentials.close(),
    ]);
  }

  async #createChannel(card: Card, chosen: CardInterface): Promise<TaskChannel> {
    const { url, binding: protocolBinding, version, tenant } = chosen;
    if (protocolBinding === "JSONRPC") {
      return new JsonRpcChannel({
        url,
        tenant,
        version: version === "0.3" ? "0.3" : "1.0",
        maxEventBytes: this.#options.limits?.maxEventBytes ?? MAX_EVENT_BYTES,
        request: (target, { headers, ...request }, call) =>
          this.#authorized(call, (credential) =>
            this.#guard.request(target, { ...request, headers: { ...headers, ...credential } }),
          ),
      });
    }
    const factory = new ClientFactory({
      transports: [new RestTransportFactory({ fetchImpl: this.#fetch as typeof fetch })],
      cardResolver: { resolve: () => Promise.reject(new Error("Cards are fetched elsewhere.")) },
    });
    // The client sees a card with one interface, so that its choice is ours.
    const client = await factory.createFromAgentCard(
      AgentCard.fromJSON({
        name: card.name,
        capabilities: { streaming: card.streaming },
        supportedInterfaces: [{ url, protocolBinding, protocolVersion: version, tenant }],
      }),
    );
    return new RestChannel({ client, authorized: (call, run) => this.#authorized(call, run) });
  }

  #authorized<T>(
    { delegationId, run: whose, traceparent }: CallOptions,
    run: (headers: Readonly<Record<string, string>>) => Promise<T>,
  ): Promise<T> {
    const agent = this.#options.name;
    const context: CredentialContext = { agent, ...defined({ delegationId }), ...whose };
    if (traceparent === undefined) return this.#credentials.use(context, run);
    return this.#credentials.use(context, (headers) => run({ ...headers, traceparent }));
  }

  /** Checks JSON bodies before the client parses them; events are checked by the guard. */
  #fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await this.#framed.fetch(input, init);
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

function isJson({ headers }: Pick<AnswerHead, "headers"> | Response): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get("content-type") ?? "");
}
