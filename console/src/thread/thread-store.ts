import {
  type ApprovalView,
  type Client,
  ClientError,
  createClientId,
  createThreadView,
  type DelegationRecord,
  delegationsOf,
  type RunView,
  type StreamState,
  type SubagentView,
  type ThreadFrame,
  type ThreadView,
} from "../../../src/client/index.js";

/** `idle`: there is nothing to read yet. `unknown`: the host does not know this thread, or no longer does. */
export type Connection = { readonly status: "idle" } | { readonly status: "unknown" } | StreamState;

/** A message that the host has not echoed yet. */
export interface PendingMessage {
  readonly runId: string;
  readonly agent: string;
  readonly text: string;
  readonly startedAt: number;
  readonly error?: string;
}

/** An answer to an approval. */
export type Decision = Parameters<Client["decideApproval"]>[1];

/** What a card of a delegation would show, raw. */
export interface RawEvents {
  readonly frames: readonly ThreadFrame[];
  /** How many earlier ones were left out. */
  readonly left: number;
}

/** Raw events of one delegation that are kept to look at. */
const MOST_RAW = 1_000;

/** Milliseconds that frames are folded without a pause: a longer one would be felt. */
const FOLD_MS = 8;

/** The page rests this many times as long as a change took to show, so that there is time for the person. */
const REST_FACTOR = 1.5;

/** Longest time between a change and its being shown when the browser paints nothing, as in a tab behind another. */
const HIDDEN_DELAY_MS = 250;

/** One thread as the page knows it. Tells its listeners of changes at most once a frame, however many events arrive. */
export class ThreadStore {
  readonly threadId: string;
  /** What is shown is over: nothing of it can be stopped or answered. */
  readonly readOnly: boolean = false;
  readonly #client: Client;
  readonly #reducer = createThreadView();
  readonly #listeners = new Set<() => void>();
  /** Ids of runs, delegations and approvals that the person has acted on and that have not answered yet. */
  readonly #asked = new Set<string>();
  #connection: Connection = { status: "idle" };
  #pending: PendingMessage | undefined;
  #problem: string | undefined;
  #version = 0;
  #stream: AbortController | undefined;
  #cancelFlush: (() => void) | undefined;
  /** In the time of `performance.now()`. */
  #restUntil = 0;

  constructor(client: Client, threadId: string) {
    this.#client = client;
    this.threadId = threadId;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly version = (): number => this.#version;

  get view(): ThreadView {
    return this.#reducer.view;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** The message that was sent last, until its run is seen. */
  get pending(): PendingMessage | undefined {
    if (this.#pending && this.#reducer.run(this.#pending.runId)) this.#pending = undefined;
    return this.#pending;
  }

  /** What went wrong with the person's last action. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get activeRun(): RunView | undefined {
    const last = this.view.runs.at(-1);
    return last?.status === "running" ? last : undefined;
  }

  /** The time that the thread's clocks show. */
  now(): number {
    return Date.now();
  }

  /** Shows what went wrong with something that the person asked for. */
  complain(error: unknown): void {
    this.#problem = explain(error);
    this.changed();
  }

  wasAsked(id: string): boolean {
    return this.#asked.has(id);
  }

  /** Reads the thread, from where it was left, until {@link close}. */
  open(): void {
    if (this.#stream) return;
    const stream = new AbortController();
    this.#stream = stream;
    this.#read(stream).finally(() => {
      if (this.#stream === stream) this.#stream = undefined;
    });
  }

  close(): void {
    this.#stream?.abort();
    this.#stream = undefined;
  }

  async send(agent: string, text: string): Promise<void> {
    const message = { runId: createClientId("run"), agent, text, startedAt: Date.now() };
    this.#pending = message;
    this.changed();
    try {
      await this.#client.startRun({ agent, threadId: this.threadId, runId: message.runId, text });
      this.open();
    } catch (error) {
      this.#pending = { ...message, error: explain(error) };
    }
    this.changed();
  }

  dismissPending(): void {
    this.#pending = undefined;
    this.changed();
  }

  dismissProblem(): void {
    this.#problem = undefined;
    this.changed();
  }

  stopRun(runId: string): Promise<void> {
    return this.#ask(runId, () => this.#client.cancelRun(runId, "user"));
  }

  stopDelegation(delegationId: string): Promise<void> {
    return this.#ask(delegationId, () => this.#client.cancelDelegation(delegationId, "user"));
  }

  /** @param input words, or an object by the question's schema. */
  answer({ delegationId, questionCount }: SubagentView, input: unknown): Promise<void> {
    const answer = typeof input === "string" ? { text: input } : { data: input };
    const question = `${delegationId}?${questionCount}`;
    return this.#ask(question, () => this.#client.answerDelegation(delegationId, answer));
  }

  decide(approval: ApprovalView, decision: Decision): Promise<void> {
    const { approvalId } = approval.request;
    return this.#ask(approvalId, () => this.#client.decideApproval(approvalId, decision));
  }

  /** A delegation of any of the thread's runs. */
  subagent(delegationId: string): SubagentView | undefined {
    for (let index = this.view.runs.length - 1; index >= 0; index--) {
      const run = this.view.runs[index];
      const found = run && delegationsOf(run).find((subagent) => subagent.delegationId === delegationId);
      if (found) return found;
    }
    return undefined;
  }

  /** What the host has on record of a delegation. */
  delegationRecord(delegationId: string, signal: AbortSignal): Promise<DelegationRecord> {
    return this.#client.getDelegation(delegationId, signal);
  }

  /**
   * The events of a delegation as the host tells them again: to its end, or to now.
   * @param first cursor of its first event.
   */
  async rawEvents(delegationId: string, first: string, signal: AbortSignal): Promise<RawEvents> {
    const reading = new AbortController();
    const leave = () => reading.abort();
    signal.addEventListener("abort", leave, { once: true });
    const frames: ThreadFrame[] = [];
    let left = 0;
    try {
      const stream = this.#client.streamThread(this.threadId, {
        after: String(BigInt(first) - 1n),
        signal: reading.signal,
        onState: ({ status }) => {
          if (status === "live" || status === "reconnecting") leave();
        },
      });
      for await (const frame of stream) {
        const value = frame.event.value as { readonly delegationId?: unknown } | null | undefined;
        if (value?.delegationId !== delegationId) continue;
        frames.push(frame);
        if (frames.length > MOST_RAW) {
          frames.shift();
          left++;
        }
        if (/^subagent\.(finished|failed|cancelled)$/.test(String(frame.event.name))) break;
      }
    } finally {
      signal.removeEventListener("abort", leave);
    }
    return { frames, left };
  }

  artifactUrl(delegationId: string, artifactId: string): string {
    return this.#client.artifactUrl(delegationId, artifactId);
  }

  async #ask(id: string, action: () => Promise<void>): Promise<void> {
    if (this.#asked.has(id)) return;
    this.#asked.add(id);
    this.#problem = undefined;
    this.changed();
    try {
      await action();
    } catch (error) {
      // Somebody else was first; the stream brings what came of it.
      if (error instanceof ClientError && error.code === "conflict") return;
      this.#asked.delete(id);
      this.#problem = explain(error);
      this.changed();
    }
  }

  async #read(stream: AbortController): Promise<void> {
    const { cursor } = this.view;
    const frames = this.#client.streamThread(this.threadId, {
      signal: stream.signal,
      onState: (state) => {
        if (stream.signal.aborted) return;
        this.#connection = state;
        this.changed();
      },
      ...(cursor !== undefined && { after: cursor }),
    });
    try {
      let since = performance.now();
      for await (const frame of frames) {
        this.#reducer.apply(frame);
        if (performance.now() - since > FOLD_MS) {
          await nextTask();
          since = performance.now();
        }
        this.changed();
      }
    } catch (error) {
      if (stream.signal.aborted) return;
      if (error instanceof ClientError && error.code === "not_found")
        this.#connection = { status: "unknown" };
      this.changed();
    }
  }

  protected changed(): void {
    if (this.#cancelFlush) return;
    const flush = () => {
      this.#cancelFlush?.();
      this.#cancelFlush = undefined;
      this.#version++;
      const began = performance.now();
      for (const listener of this.#listeners) listener();
      // React renders before the next task begins.
      void nextTask().then(() => {
        this.#restUntil = performance.now() + (performance.now() - began) * REST_FACTOR;
      });
    };
    let frame: number | undefined;
    const rest = Math.min(HIDDEN_DELAY_MS, this.#restUntil - performance.now());
    const start = setTimeout(
      () => {
        frame = requestAnimationFrame(flush);
      },
      Math.max(0, rest),
    );
    // A hidden tab paints no frames, but its title has to say that it waits for a person.
    const timer = setTimeout(flush, HIDDEN_DELAY_MS);
    this.#cancelFlush = () => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      clearTimeout(start);
      clearTimeout(timer);
    };
  }
}

/** Lets the browser do what waits: input, painting. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

export function explain(error: unknown): string {
  if (error instanceof ClientError) {
    return error.code === "unauthorized" ? "The host wants you to sign in first." : error.message;
  }
  return "Something went wrong in this page. Reload it and try again.";
}
