import { systemClock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import type {
  RemoteAgent,
  RemoteCancelAnswer,
  RemoteDescription,
  RemoteInput,
  RemoteSignal,
  RemoteTask,
  RemoteTaskReference,
} from "../../delegation/remote.js";
import { ContentVeil } from "../http/content-veil.js";
import { withOwnSignal } from "../http/own-signal.js";
import { Veil } from "../http/veil.js";
import { capText } from "../http/words.js";
import { type Connection, Connector } from "./connection.js";
import { describeFailure, type Failure, isTaskNotFound } from "./failure.js";
import { type A2aOptions, checkOptions } from "./options.js";
import { TaskRun, type TaskToFollow } from "./task-run.js";
import { isFinal, stateWord } from "./words.js";

/** Characters of what a card says of its agent. */
const MAX_DESCRIPTION = 4_000;
const MAX_NAME = 200;
const MAX_SKILLS = 100;

const DEFAULT_RECOVERY_MS = 60_000;
const DEFAULT_QUIET_MS = 600_000;

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
  readonly #options: A2aOptions;
  readonly #connector: Connector;
  readonly #open = new Set<TaskRun>();
  /** The same, by the remote's names of their tasks. */
  readonly #runs = new Map<string, TaskRun>();
  readonly #veil: Veil;

  constructor(options: A2aOptions) {
    this.key = options.name;
    this.#options = options;
    this.#connector = new Connector(options);
    this.#veil = new Veil(this.#connector.redact);
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
    // Before anything is cut: half a credential is not recognised.
    const card = this.#veil.card(connection.card);
    return {
      name: capText(card.name, MAX_NAME),
      description: capText(card.description, MAX_DESCRIPTION),
      skills: card.skills.slice(0, MAX_SKILLS).map((skill) => ({
        id: skill.id,
        name: capText(skill.name || skill.id, MAX_NAME),
        ...defined({ inputSchema: skill.inputSchema }),
        ...(skill.description === "" ? {} : { description: capText(skill.description, MAX_DESCRIPTION) }),
      })),
      streaming: card.streaming,
      fingerprint: card.fingerprint,
    };
  }

  start(task: RemoteTask, signal: AbortSignal): AsyncGenerator<RemoteSignal, void, undefined> {
    const { contextId } = task;
    return this.#follow(
      contextId === undefined ? task : { ...task, contextId: this.#veil.real(contextId) },
      signal,
    );
  }

  reattach(
    { taskId, contextId, run }: RemoteTaskReference,
    task: Pick<RemoteTask, "delegationId" | "messageId">,
    signal: AbortSignal,
  ): AsyncGenerator<RemoteSignal, void, undefined> {
    const real = (name: string) => this.#veil.real(name);
    const reference = {
      taskId: real(taskId),
      ...(contextId === undefined ? {} : { contextId: real(contextId) }),
    };
    return this.#follow({ ...task, ...defined({ run }) }, signal, reference);
  }

  async *#follow(
    task: TaskToFollow,
    signal: AbortSignal,
    reference?: RemoteTaskReference,
  ): AsyncGenerator<RemoteSignal, void, undefined> {
    let connection: Connection;
    try {
      connection = await this.#connector.connect(signal);
    } catch (error) {
      if (!signal.aborted) yield failed(this.#failure(error));
      return;
    }
    const { clock = systemClock, random = Math.random, limits = {} } = this.#options;
    const names = new Set<string>();
    let run: TaskRun | undefined;
    const named = (taskId: string) => {
      names.add(taskId);
      if (run !== undefined) this.#runs.set(taskId, run);
    };
    run = new TaskRun(
      {
        agent: this.key,
        channel: connection.channel,
        streaming: connection.card.streaming,
        clock,
        random,
        recoveryMs: limits.recoveryMs ?? DEFAULT_RECOVERY_MS,
        quietMs: limits.quietMs ?? DEFAULT_QUIET_MS,
        redact: (text) => this.#connector.redact(text),
        describe: (error) => this.#failure(error, connection),
        named,
      },
      task,
      reference,
    );
    if (reference !== undefined) named(reference.taskId);
    this.#open.add(run);
    const content = new ContentVeil(this.#connector.redact);
    try {
      for await (const said of run.signals(signal)) {
        const shown = this.#veil.signal(said);
        if (this.#connector.redact.active) yield* content.pieces(shown);
        else yield shown;
      }
    } finally {
      this.#open.delete(run);
      for (const name of names) if (this.#runs.get(name) === run) this.#runs.delete(name);
    }
  }

  async answer(reference: RemoteTaskReference, input: RemoteInput, signal: AbortSignal): Promise<void> {
    const run = this.#runs.get(this.#veil.real(reference.taskId));
    if (run === undefined) {
      throw new TroupeError<DelegationErrorCode>("nothing_asked", "The remote agent waits for no answer.");
    }
    await run.answer(input, signal);
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
      const { channel } = connection;
      const { delegationId, reason } = request;
      const { task } = await withOwnSignal(signal, (own) =>
        channel.cancel(
          this.#veil.real(reference.taskId),
          { delegationId, reason },
          { signal: own, delegationId, ...defined({ run: reference.run }) },
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
      const { channel } = await this.#connector.reconnect(signal);
      const { task } = await withOwnSignal(signal, (own) =>
        channel.get(this.#veil.real(reference.taskId), { signal: own, ...defined({ run: reference.run }) }),
      );
      const { status } = task;
      return { over: isFinal(status?.state), remoteStatus: stateWord(status?.state) };
    } catch (error) {
      // A task that the remote has forgotten can neither end nor be stopped any more.
      return isTaskNotFound(error)
        ? { over: true, remoteStatus: NOT_FOUND }
        : { over: false, remoteStatus: "unknown" };
    }
  }

  close(): Promise<void> {
    for (const run of this.#open) run.stop();
    return this.#connector.close();
  }

  #failure(error: unknown, connection?: Connection): Failure {
    return describeFailure(error, {
      agent: this.key,
      url: connection?.interface.url ?? this.#options.endpointUrlOverride ?? this.#options.agentCardUrl,
      redact: (text) => this.#connector.redact(text),
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
