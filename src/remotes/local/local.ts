import { createHash, randomUUID } from "node:crypto";
import { defined } from "../../core/defined.js";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import type {
  RemoteAgent,
  RemoteCancelAnswer,
  RemoteDescription,
  RemoteInput,
  RemoteSignal,
  RemoteSkill,
  RemoteTask,
  RemoteTaskReference,
} from "../../delegation/remote.js";
import { abortable } from "../http/own-signal.js";
import type { LocalHost, LocalRemote, LocalRun } from "./local-host.js";
import { decisionOf, RunSignals } from "./run-signals.js";

/** Options of {@link local}. */
export interface LocalOptions {
  /** The key by which the model knows it. */
  readonly name: string;
  /** The key of an agent of the same host. */
  readonly agent: string;
  /** What it can do, for the model. */
  readonly description?: string;
  readonly skills?: readonly RemoteSkill[];
}

/** Begins the ids of the threads that local remotes make; no other thread can be gone on with. */
const THREAD = "local-";

/**
 * An agent of the host itself as a sub-agent, in the same process. Its runs are runs of the host: they have a thread of their own
 * in the journal, and may delegate in turn as far as the policies allow.
 *
 * The result is given to a host, which makes the remote of it.
 */
export function local(options: LocalOptions): LocalRemote {
  return (host) => new LocalAgent(options, host);
}

interface Task {
  readonly run: LocalRun["run"];
  readonly signals: RunSignals;
}

class LocalAgent implements RemoteAgent {
  readonly key: string;
  readonly protocol = "local";
  readonly #tasks = new Map<string, Task>();

  constructor(
    private readonly options: LocalOptions,
    private readonly host: LocalHost,
  ) {
    this.key = options.name;
  }

  async describe(signal: AbortSignal): Promise<RemoteDescription> {
    signal.throwIfAborted();
    const { agent, name, skills = [] } = this.options;
    const known = this.host.describe(agent);
    const { description = `The agent "${agent}" of this host, with a workspace and tools of its own.` } =
      this.options;
    const entry = JSON.stringify({ agent, name, description, skills, driver: known.driver });
    return {
      name: known.name,
      description,
      skills,
      streaming: true,
      fingerprint: createHash("sha256").update(entry).digest("hex"),
    };
  }

  async *start(task: RemoteTask, signal: AbortSignal): AsyncGenerator<RemoteSignal, void, undefined> {
    if (signal.aborted) return;
    const { delegationId, messageId, traceparent, contextId = `${THREAD}${this.key}-${randomUUID()}` } = task;
    const metadata = { ...task.metadata, ...defined({ traceparent }) };
    const runId = `${delegationId}-run`;
    let started: LocalRun;
    try {
      if (!contextId.startsWith(`${THREAD}${this.key}-`))
        throw new TroupeError("policy_denied", "This conversation is not one of the agent's as a sub-agent.");
      const prompt = promptOf(task);
      const { agent } = this.options;
      const request = { agent, prompt, runId, threadId: contextId, messageId, metadata };
      started = this.host.start({ ...request, ...defined({ caller: task.run }) });
    } catch (error) {
      yield refusal(error);
      return;
    }
    const { run } = started;
    const signals = new RunSignals(runId, contextId);
    this.#tasks.set(runId, { run, signals });
    try {
      for await (const event of started.events(signal)) yield* signals.map(event);
      if (signals.end === undefined && !signal.aborted)
        yield { type: "disconnected", message: "The run's record ended before the run did." };
    } finally {
      this.#tasks.delete(runId);
      // Nobody else knows of it.
      if (signals.end === undefined) void run.cancel("nobody follows it any more");
    }
  }

  async answer({ taskId }: RemoteTaskReference, input: RemoteInput): Promise<void> {
    const task = this.#tasks.get(taskId);
    const question = task?.signals.question;
    const taken =
      question !== undefined && task?.run.decide(question.approvalId, decisionOf(question, input));
    if (!taken) throw new TroupeError<DelegationErrorCode>("nothing_asked", "The agent waits for no answer.");
  }

  async cancel(
    { taskId }: RemoteTaskReference,
    { reason }: { delegationId: string; reason: string },
    signal: AbortSignal,
  ): Promise<RemoteCancelAnswer> {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return { outcome: "already_over", remoteStatus: "over" };
    const { end } = task.signals;
    if (end !== undefined && end !== "cancelled") return { outcome: "already_over", remoteStatus: end };
    try {
      await abortable(task.run.cancel(reason), signal);
      return { outcome: "cancelled" };
    } catch {
      return { outcome: "pending", detail: "its program has not ended yet" };
    }
  }

  async look({
    taskId,
  }: RemoteTaskReference): Promise<{ readonly over: boolean; readonly remoteStatus: string }> {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return { over: true, remoteStatus: "over" };
    const { end } = task.signals;
    return { over: end !== undefined, remoteStatus: end ?? "working" };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#tasks.values()].map(({ run }) => run.cancel("the host is closing")));
  }
}

/** Files that come along: local programs take a prompt and nothing else, so what is no text is named only. */
function promptOf({ text, artifacts }: RemoteTask): string {
  const files = artifacts.map((artifact) => {
    const { name, mimeType } = artifact;
    if ("url" in artifact) return `--- ${name} (${mimeType}): ${artifact.url} ---`;
    try {
      const content = new TextDecoder("utf-8", { fatal: true }).decode(artifact.bytes);
      return `--- ${name} (${mimeType}) ---\n${content}\n--- end of ${name} ---`;
    } catch {
      throw new TroupeError<DelegationErrorCode>(
        "capability_unsupported",
        `${name} is no text, and a local agent cannot be given anything else.`,
      );
    }
  });
  return [text, ...files].join("\n\n");
}

function refusal(error: unknown): RemoteSignal {
  if (!(error instanceof TroupeError)) throw error;
  const { code, message, retryable } = error;
  const known: Readonly<Record<string, DelegationErrorCode>> = {
    agent_not_found: "agent_unavailable",
    thread_busy: "agent_busy",
    host_closed: "host_stopped",
    capability_unsupported: "capability_unsupported",
    policy_denied: "policy_denied",
  };
  return {
    type: "failed",
    code: known[code] ?? "remote_failed",
    message,
    retryable,
    remoteStatus: "unknown",
  };
}
