import type {
  RemoteAgent,
  RemoteCancelAnswer,
  RemoteDescription,
  RemoteSignal,
  RemoteTask,
  RemoteTaskReference,
} from "../../src/delegation/remote.js";
import { deferred } from "./deferred.js";

/** Signals after which an iteration ends. */
const FINAL = new Set(["completed", "failed", "rejected", "cancelled", "disconnected"]);

/** A task that was started at a {@link FakeRemote}: the test says what happens. */
export class FakeTask {
  #queue: (RemoteSignal | Error)[] = [];
  #ended = false;
  #wake: () => void = () => undefined;
  /** Whether the iteration is over. */
  returned = false;

  constructor(
    readonly task: RemoteTask,
    readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => this.#wake());
  }

  send(...signals: RemoteSignal[]): void {
    this.#queue.push(...signals);
    this.#wake();
  }

  /** The iterator throws. */
  throw(error: Error): void {
    this.#queue.push(error);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *signals(): AsyncGenerator<RemoteSignal> {
    try {
      for (;;) {
        const next = this.#queue.shift();
        if (next instanceof Error) throw next;
        if (next !== undefined) {
          yield next;
          if (FINAL.has(next.type)) return;
        } else if (this.#ended || this.signal.aborted) return;
        else {
          const waiting = deferred();
          this.#wake = waiting.resolve;
          await waiting.promise;
        }
      }
    } finally {
      this.returned = true;
    }
  }
}

/** A remote agent without any network. */
export class FakeRemote implements RemoteAgent {
  readonly protocol = "a2a";
  readonly tasks: FakeTask[] = [];
  readonly cancels: {
    readonly reference: RemoteTaskReference;
    readonly delegationId: string;
    readonly reason: string;
    readonly signal: AbortSignal;
  }[] = [];
  looks = 0;
  described = 0;
  closed = false;
  onDescribe: (signal: AbortSignal) => Promise<RemoteDescription> = async () => ({
    name: "Research Agent",
    description: "Finds things out.",
    skills: [],
    streaming: true,
    fingerprint: "f1",
  });
  onStart: (task: FakeTask) => void = () => undefined;
  onCancel: () => Promise<RemoteCancelAnswer> = async () => ({ outcome: "cancelled" });
  /** Absent by default, as with a remote that cannot be answered. */
  answer?: NonNullable<RemoteAgent["answer"]>;
  onLook: () => Promise<{ over: boolean; remoteStatus: string }> = async () => ({
    over: false,
    remoteStatus: "working",
  });

  constructor(readonly key = "research") {}

  describe(signal: AbortSignal): Promise<RemoteDescription> {
    this.described++;
    return this.onDescribe(signal);
  }

  start(task: RemoteTask, signal: AbortSignal): AsyncIterable<RemoteSignal> {
    const started = new FakeTask(task, signal);
    this.tasks.push(started);
    this.onStart(started);
    return started.signals();
  }

  cancel(
    reference: RemoteTaskReference,
    request: { delegationId: string; reason: string },
    signal: AbortSignal,
  ): Promise<RemoteCancelAnswer> {
    this.cancels.push({ reference, ...request, signal });
    return this.onCancel();
  }

  look(): Promise<{ over: boolean; remoteStatus: string }> {
    this.looks++;
    return this.onLook();
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
