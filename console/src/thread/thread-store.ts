import {
  type ApprovalView,
  type Client,
  ClientError,
  createClientId,
  createThreadView,
  type RunView,
  type StreamState,
  type SubagentView,
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

/** Longest time between a change and its being shown when the browser paints nothing, as in a tab behind another. */
const HIDDEN_DELAY_MS = 250;

/** One thread as the page knows it. Tells its listeners of changes at most once a frame, however many events arrive. */
export class ThreadStore {
  readonly threadId: string;
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

  get pending(): PendingMessage | undefined {
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
    this.#changed();
    try {
      await this.#client.startRun({ agent, threadId: this.threadId, runId: message.runId, text });
      this.open();
    } catch (error) {
      this.#pending = { ...message, error: explain(error) };
    }
    this.#changed();
  }

  dismissPending(): void {
    this.#pending = undefined;
    this.#changed();
  }

  dismissProblem(): void {
    this.#problem = undefined;
    this.#changed();
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

  artifactUrl(delegationId: string, artifactId: string): string {
    return this.#client.artifactUrl(delegationId, artifactId);
  }

  async #ask(id: string, action: () => Promise<void>): Promise<void> {
    if (this.#asked.has(id)) return;
    this.#asked.add(id);
    this.#problem = undefined;
    this.#changed();
    try {
      await action();
    } catch (error) {
      // Somebody else was first; the stream brings what came of it.
      if (error instanceof ClientError && error.code === "conflict") return;
      this.#asked.delete(id);
      this.#problem = explain(error);
      this.#changed();
    }
  }

  async #read(stream: AbortController): Promise<void> {
    const { cursor } = this.view;
    const frames = this.#client.streamThread(this.threadId, {
      signal: stream.signal,
      onState: (state) => {
        if (stream.signal.aborted) return;
        this.#connection = state;
        this.#changed();
      },
      ...(cursor !== undefined && { after: cursor }),
    });
    try {
      for await (const frame of frames) {
        this.#reducer.apply(frame);
        if (this.#pending && this.#reducer.run(this.#pending.runId)) this.#pending = undefined;
        this.#changed();
      }
    } catch (error) {
      if (stream.signal.aborted) return;
      if (error instanceof ClientError && error.code === "not_found")
        this.#connection = { status: "unknown" };
      this.#changed();
    }
  }

  #changed(): void {
    if (this.#cancelFlush) return;
    const flush = () => {
      this.#cancelFlush?.();
      this.#cancelFlush = undefined;
      this.#version++;
      for (const listener of this.#listeners) listener();
    };
    // A hidden tab paints no frames, but its title has to say that it waits for a person.
    const frame = requestAnimationFrame(flush);
    const timer = setTimeout(flush, HIDDEN_DELAY_MS);
    this.#cancelFlush = () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }
}

function explain(error: unknown): string {
  if (error instanceof ClientError) {
    return error.code === "unauthorized" ? "The host wants you to sign in first." : error.message;
  }
  return "Something went wrong in this page. Reload it and try again.";
}
