import { createHash, randomUUID } from "node:crypto";
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
import { Veil } from "../http/veil.js";
import { Connection } from "./connection.js";
import { describeFailure } from "./failure.js";
import { type AguiOptions, checkOptions } from "./options.js";
import { ThreadRun } from "./thread-run.js";
import { Threads } from "./threads.js";

const DEFAULT_RECOVERY_MS = 60_000;
/** Tasks whose end is remembered, for who asks later. */
const MAX_ENDED = 1_000;

/**
 * A remote agent that speaks AG-UI over HTTP and server-sent events: 1.0, and 0.0.5x as servers speak it. A delegation is a run of a
 * thread, and each delegation has a thread of its own unless the policy `context` says otherwise.
 *
 * Only the entry's own origins are called; redirects are refused.
 * @throws TroupeError `invalid_input` when an option is wrong
 */
export function agui(options: AguiOptions): RemoteAgent {
  checkOptions(options);
  return new AguiRemote(options);
}

class AguiRemote implements RemoteAgent {
  readonly key: string;
  readonly protocol = "agui";
  readonly #options: AguiOptions;
  readonly #connection: Connection;
  readonly #threads = new Threads();
  readonly #runs = new Map<string, ThreadRun>();
  readonly #ended = new Map<string, string>();
  readonly #veil: Veil;

  constructor(options: AguiOptions) {
    this.key = options.name;
    this.#options = options;
    this.#connection = new Connection(options);
    this.#veil = new Veil(this.#connection.redact);
  }

  /** What the entry says: AG-UI has no card, so nothing is asked. */
  async describe(signal: AbortSignal): Promise<RemoteDescription> {
    signal.throwIfAborted();
    const { name, title = name, description = "", skills = [], url } = this.#options;
    const entry = JSON.stringify({ name, title, description, skills, url });
    return {
      name: title,
      description,
      skills,
      streaming: true,
      fingerprint: createHash("sha256").update(entry).digest("hex"),
    };
  }

  async *start(task: RemoteTask, signal: AbortSignal): AsyncGenerator<RemoteSignal, void, undefined> {
    const {
      clock = systemClock,
      random = Math.random,
      limits = {},
      createThreadId = randomUUID,
    } = this.#options;
    const { stopUrl } = this.#options;
    const run = new ThreadRun(
      {
        agent: this.key,
        connection: this.#connection,
        threads: this.#threads,
        threadId: task.contextId === undefined ? createThreadId() : this.#veil.real(task.contextId),
        clock,
        random,
        repost: this.#options.resume === "repost",
        recoveryMs: limits.recoveryMs ?? DEFAULT_RECOVERY_MS,
        state: this.#options.state === "artifact",
        unansweredTools: this.#options.unansweredTools ?? "ask",
        describe: (error) =>
          describeFailure(error, { agent: this.key, redact: (text) => this.#connection.redact(text) }),
        ...defined({ stopUrl }),
      },
      task,
    );
    this.#runs.set(run.taskId, run);
    const content = new ContentVeil(this.#connection.redact);
    try {
      for await (const said of run.signals(signal)) {
        const shown = this.#veil.signal(said);
        if (this.#connection.redact.active) yield* content.pieces(shown);
        else yield shown;
      }
    } finally {
      if (this.#runs.get(run.taskId) === run) this.#runs.delete(run.taskId);
      if (run.over) this.#remember(run);
    }
  }

  async answer(reference: RemoteTaskReference, input: RemoteInput, signal: AbortSignal): Promise<void> {
    const run = this.#runs.get(this.#veil.real(reference.taskId));
    if (run === undefined)
      throw new TroupeError<DelegationErrorCode>("nothing_asked", "The remote agent waits for no answer.");
    await run.answer(input, signal);
  }

  async cancel(
    reference: RemoteTaskReference,
    _request: { delegationId: string; reason: string },
    signal: AbortSignal,
  ): Promise<RemoteCancelAnswer> {
    const taskId = this.#veil.real(reference.taskId);
    const run = this.#runs.get(taskId);
    if (run !== undefined) return run.cancel(signal);
    const remoteStatus = this.#ended.get(taskId);
    if (remoteStatus !== undefined) return { outcome: "already_over", remoteStatus };
    return { outcome: "pending", detail: "nothing is connected to the agent's run any more" };
  }

  /** What the run's own stream said. Without it nobody can tell: AG-UI has no way to ask for a run. */
  async look(
    reference: RemoteTaskReference,
  ): Promise<{ readonly over: boolean; readonly remoteStatus: string }> {
    const taskId = this.#veil.real(reference.taskId);
    const ended = this.#ended.get(taskId);
    if (ended !== undefined) return { over: true, remoteStatus: ended };
    const run = this.#runs.get(taskId);
    return { over: run?.over ?? false, remoteStatus: run?.status ?? "unknown" };
  }

  close(): Promise<void> {
    for (const run of this.#runs.values()) run.stop();
    return this.#connection.close();
  }

  #remember({ taskId, status }: ThreadRun): void {
    this.#ended.set(taskId, status);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAX_ENDED) break;
      this.#ended.delete(oldest);
    }
  }
}
