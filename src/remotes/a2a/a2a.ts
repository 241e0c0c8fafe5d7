import { type Clock, systemClock, type Timer } from "../../core/clock.js";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import type {
  RemoteAgent,
  RemoteCancelAnswer,
  RemoteDescription,
  RemoteSignal,
  RemoteTask,
  RemoteTaskReference,
} from "../../delegation/remote.js";
import { createRedactor } from "../../wire/redact.js";
import { type Connection, Connector } from "./connection.js";
import { describeFailure, type Failure, isTaskNotFound } from "./failure.js";
import { type A2aOptions, checkOptions, secretsOf } from "./options.js";
import { sendRequest } from "./request.js";
import { StreamMapper } from "./stream-mapper.js";
import { capText, isFinal, stateWord } from "./words.js";

/** Characters of what a card says of its agent. */
const MAX_DESCRIPTION = 4_000;
const MAX_NAME = 200;
const MAX_SKILLS = 100;

/** How long a stream may stay open after the final state, in milliseconds; some never close it. */
const DRAIN_MS = 500;

/** What {@link RemoteAgent.look} says of a task that the remote does not know. */
const NOT_FOUND = "not-found";

/**
 * A remote agent that speaks A2A: version 1.0 over JSON-RPC or REST, or version 0.3 over JSON-RPC, whichever its card offers first in
 * this order.
 *
 * Only the entry's own origins are called, whatever the card says; redirects are refused.
 * @throws TroupeError `invalid_input` when an option is wrong
 */
export function a2a(options: A2aOptions): RemoteAgent {
  checkOptions(options);
  return new A2aRemote(options);
}

class A2aRemote implements RemoteAgent {
  readonly key: string;
  readonly protocol = "a2a";
  readonly #url: string;
  readonly #clock: Clock;
  readonly #connector: Connector;
  readonly #redact: (text: string) => string;

  constructor(options: A2aOptions) {
    this.key = options.name;
    this.#url = options.endpointUrlOverride ?? options.agentCardUrl;
    this.#clock = options.clock ?? systemClock;
    this.#connector = new Connector({ ...options, clock: this.#clock });
    this.#redact = createRedactor(secretsOf(options.auth));
  }

  async describe(signal: AbortSignal): Promise<RemoteDescription> {
    let connection: Connection;
    try {
      connection = await this.#connector.connect(signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const { code, message, retryable } = this.#failure(error);
      throw new TroupeError<DelegationErrorCode>(code, message, { retryable, cause: error });
    }
    const { card } = connection;
    return {
      name: capText(card.name, MAX_NAME),
      description: capText(card.description, MAX_DESCRIPTION),
      skills: card.skills.slice(0, MAX_SKILLS).map((skill) => ({
        id: skill.id,
        name: capText(skill.name || skill.id, MAX_NAME),
        ...(skill.description === "" ? {} : { description: capText(skill.description, MAX_DESCRIPTION) }),
      })),
      streaming: card.streaming,
      fingerprint: card.fingerprint,
    };
  }

  async *start(task: RemoteTask, signal: AbortSignal): AsyncGenerator<RemoteSignal, void, undefined> {
    let connection: Connection;
    try {
      connection = await this.#connector.connect(signal);
    } catch (error) {
      if (!signal.aborted) yield failed(this.#failure(error));
      return;
    }
    if (!connection.card.streaming) {
      yield {
        type: "failed",
        code: "capability_unsupported",
        message: `The agent "${this.key}" cannot stream, and agents that cannot are not supported yet. Nothing was sent.`,
      };
      return;
    }
    // Its own signal for this call, so that nothing is left on one that lives longer.
    const call = new AbortController();
    const abort = () => call.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const mapper = new StreamMapper({ redact: this.#redact });
    let drain: Timer | undefined;
    try {
      for await (const response of connection.client.sendMessageStream(sendRequest(task), {
        signal: call.signal,
      })) {
        // After the final state the stream is only read to its end, so that its connection can serve the next call.
        if (mapper.over) continue;
        for (const signalled of mapper.map(response)) {
          if (signal.aborted) return;
          if (mapper.over) drain = this.#clock.timer(DRAIN_MS, () => call.abort());
          yield signalled;
        }
      }
      if (mapper.over) return;
      if (mapper.waitsForInput || signal.aborted) return;
      yield {
        type: "disconnected",
        message: `The agent "${this.key}" closed its stream without a final state.`,
      };
    } catch (error) {
      if (mapper.over || signal.aborted) return;
      const failure = this.#failure(error, connection);
      // A task that was taken, or may have been, goes on whatever happened to this stream.
      const lost = mapper.accepted
        ? failure.code !== "artifact_too_large"
        : failure.code === "stream_interrupted";
      if (lost) yield { type: "disconnected", message: failure.message };
      else yield failed(failure);
    } finally {
      drain?.cancel();
      signal.removeEventListener("abort", abort);
      call.abort();
    }
  }

  async cancel(
    reference: RemoteTaskReference,
    request: { delegationId: string; reason: string },
    signal: AbortSignal,
  ): Promise<RemoteCancelAnswer> {
    let connection: Connection | undefined;
    let detail: string;
    try {
      connection = await this.#connector.reconnect(signal);
      const task = await withOwnSignal(signal, (own) =>
        (connection as Connection).client.cancelTask(
          {
            tenant: "",
            id: reference.taskId,
            metadata: { delegationId: request.delegationId, reason: request.reason },
          },
          { signal: own },
        ),
      );
      const answer = verdict(stateWord(task.status?.state), isFinal(task.status?.state));
      if (answer) return answer;
      detail = `the agent answered that the task is ${stateWord(task.status?.state)}`;
    } catch (error) {
      if (signal.aborted) return { outcome: "pending", detail: "the agent did not answer in time" };
      detail = this.#failure(error, connection).message;
    }
    // Servers disagree about the code for "over already", so the task itself is asked.
    const { over, remoteStatus } = await this.look(reference, signal);
    return verdict(remoteStatus, over) ?? { outcome: "pending", detail };
  }

  async look(
    reference: RemoteTaskReference,
    signal: AbortSignal,
  ): Promise<{ readonly over: boolean; readonly remoteStatus: string }> {
    try {
      const { client } = await this.#connector.reconnect(signal);
      const { status } = await withOwnSignal(signal, (own) =>
        client.getTask({ tenant: "", id: reference.taskId, historyLength: 0 }, { signal: own }),
      );
      return { over: isFinal(status?.state), remoteStatus: stateWord(status?.state) };
    } catch (error) {
      // A task that the remote has forgotten can neither end nor be stopped any more.
      return isTaskNotFound(error)
        ? { over: true, remoteStatus: NOT_FOUND }
        : { over: false, remoteStatus: "unknown" };
    }
  }

  close(): Promise<void> {
    return this.#connector.close();
  }

  #failure(error: unknown, connection?: Connection): Failure {
    return describeFailure(error, {
      agent: this.key,
      url: connection?.interface.url ?? this.#url,
      redact: this.#redact,
    });
  }
}

function failed({ code, message, retryable }: Failure): RemoteSignal {
  return { type: "failed", code, message, retryable };
}

function verdict(remoteStatus: string, over: boolean): RemoteCancelAnswer | undefined {
  if (!over) return undefined;
  return remoteStatus === "canceled" ? { outcome: "cancelled" } : { outcome: "already_over", remoteStatus };
}

/** Runs `call` with a signal of its own, so that no listener stays on `signal`. */
async function withOwnSignal<T>(signal: AbortSignal, call: (own: AbortSignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await call(controller.signal);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
