import { defined } from "../core/defined.js";
import { startOf } from "../core/text.js";
import {
  CAUSES,
  type DelegationEffect,
  type DelegationInput,
  type DelegationState,
  type DelegationStep,
  MAX_OPEN_TOOLS,
  MAX_TEXTS,
  MAX_WORDS,
  type StopCause,
} from "./delegation-state.js";
import type {
  CorrelationLevel,
  DelegationError,
  DelegationErrorCode,
  SubagentChange,
  SubagentEvent,
} from "./events.js";
import type { RemoteCancelAnswer, RemoteSignal } from "./remote.js";
import { buildResult, type DelegationResult, type FinalStatus } from "./result.js";

/**
 * The one state machine of a delegation, whatever its remote speaks. Pure: the live path, recovery and replay use the same.
 * The first terminal event wins, nothing follows it, and `subagent.started` always precedes it. When causes race, a stop that
 * was asked for is told rather than what the remote did in the meantime.
 */
export function reduce(state: DelegationState, input: DelegationInput): DelegationStep {
  if (state.phase === "over") return { state, events: [], effects: [] };
  return new Step(state).apply(input);
}

/** Builds one step; lives no longer than that. */
class Step {
  readonly #events: SubagentEvent[] = [];
  readonly #effects: DelegationEffect[] = [];

  constructor(private state: DelegationState) {}

  apply(input: DelegationInput): DelegationStep {
    this.#take(input);
    return { state: this.state, events: this.#events, effects: this.#effects };
  }

  #take(input: DelegationInput): void {
    switch (input.type) {
      case "show":
        return this.#start();
      case "accepted":
        return this.#accept(input.taskId, input.contextId);
      case "correlated":
        return this.#correlate(input.toolCallId, input.correlation);
      case "status":
        return this.#status(input.status, input.message);
      case "text":
        return this.#text(input.messageId, input.delta);
      case "reasoning":
        return this.#reasoning(input.messageId, input.delta);
      case "tool.start":
      case "tool.args":
      case "tool.end":
      case "tool.result":
        return this.#tool(input);
      case "artifact":
        return; // The collector turns chunks into `artifact_collected`.
      case "artifact_collected":
        return this.#artifact(input);
      case "auth_required":
        return this.#status("auth-required", input.prompt ?? "The remote agent waits for an authorisation.");
      case "input_required":
        return this.#ask(input.prompt ?? "The remote agent asks for input.", input.schema);
      case "answered":
        return this.#resolve(input.by);
      case "input_expired": {
        const { question } = this.state;
        if (question === undefined) return;
        this.#resolve("timeout");
        return this.#stop("input_required", `Nobody answered in time: ${question.prompt}`);
      }
      case "detach":
        return this.#detach();
      case "stop":
        return this.#stop(input.cause, input.reason);
      case "completed":
        return this.#remoteEnd("completed", undefined, input.message);
      case "failed": {
        // What the host itself ended, such as an answer beyond all limits, may still go on at the remote. A cancel that is
        // under way already will say how that ended.
        if (input.code === "artifact_too_large" || input.code === "internal") {
          if (this.state.phase === "stopping") return;
          this.#effects.push("cancel_remote");
        }
        const error = this.#error(
          input.code ?? "remote_failed",
          input.message ?? "The remote agent failed.",
          input.retryable ?? false,
          input.remoteStatus ?? "failed",
        );
        return this.#remoteEnd("failed", error);
      }
      case "rejected":
        return this.#remoteEnd(
          "failed",
          this.#error(
            "remote_rejected",
            input.message ?? "The remote agent rejected the task.",
            false,
            "rejected",
          ),
        );
      case "cancelled":
        return this.#remoteEnd(
          "cancelled",
          this.#error(
            "remote_cancelled",
            input.message ?? "The remote agent cancelled the task.",
            true,
            "cancelled",
          ),
        );
      case "disconnected":
        if (this.state.phase === "stopping") return;
        this.#effects.push("cancel_remote");
        return this.#remoteEnd(
          "failed",
          this.#error("stream_interrupted", input.message, true, this.state.status),
        );
      case "cancel_answered":
        return this.#cancelAnswered(input.answer);
      case "watch_ended":
        return this.#endStopped(input.remoteStatus !== undefined, input.remoteStatus);
      case "close":
        this.#stop("cancel", input.reason);
        return this.#endStopped(false, undefined);
    }
  }

  #start(): void {
    if (this.state.started) return;
    const { audit, cardChangedFrom, ...rest } = this.state;
    const { objective, correlation, cardFingerprint } = rest;
    this.state = { ...rest, started: true, phase: rest.phase === "new" ? "working" : rest.phase };
    this.#emit({
      type: "subagent.started",
      objective: startOf(objective, MAX_WORDS),
      correlation,
      ...defined({ cardFingerprint, cardChangedFrom, audit }),
    });
  }

  #accept(taskId: string | undefined, contextId: string | undefined): void {
    const identity = {
      ...this.state.identity,
      ...defined({ remoteTaskId: taskId, remoteContextId: contextId }),
    };
    const shownBefore =
      this.state.started && this.state.identity.remoteTaskId === undefined && taskId !== undefined;
    this.#set({ identity });
    this.#start();
    if (shownBefore) this.#emit({ type: "subagent.status", status: "accepted" });
  }

  #correlate(parentToolCallId: string, correlation: CorrelationLevel): void {
    if (this.state.identity.parentToolCallId !== undefined) return;
    this.#set({ identity: { ...this.state.identity, parentToolCallId }, correlation });
    if (this.state.started) this.#emit({ type: "subagent.correlated", correlation });
  }

  #status(status: string, message: string | undefined): void {
    this.#start();
    if (status !== "input-required") this.#resolve("remote");
    const words = message === undefined ? undefined : startOf(message, MAX_WORDS);
    if (status === this.state.status && (words === undefined || words === "")) return;
    this.#set({ status });
    this.#see(words ?? "");
    this.#emit({
      type: "subagent.status",
      status: startOf(status, 64),
      ...defined({ message: words }),
    });
  }

  #text(messageId: string, delta: string): void {
    this.#start();
    if (delta === "") return;
    this.#resolve("remote");
    if (this.state.openText !== messageId) {
      const goesOn = messageId === this.state.cutText;
      this.#closeText();
      const { texts } = this.state;
      if (goesOn) this.#set({ growing: texts.at(-1) ?? "", texts: texts.slice(0, -1) });
      this.#set({ openText: messageId });
      this.#emit({ type: "subagent.text.start", messageId });
    }
    this.#set({ growing: this.state.growing + delta });
    this.#see(delta);
    this.#emit({ type: "subagent.text.delta", messageId, delta });
  }

  #reasoning(messageId: string, delta: string): void {
    this.#start();
    if (delta === "") return;
    if (this.state.openReasoning !== messageId) {
      this.#closeReasoning();
      this.#set({ openReasoning: messageId });
      this.#emit({ type: "subagent.reasoning.start", messageId });
    }
    this.#see(delta);
    this.#emit({ type: "subagent.reasoning.delta", messageId, delta });
  }

  #tool(signal: Extract<RemoteSignal, { type: `tool.${string}` }>): void {
    this.#start();
    const { toolCallId } = signal;
    const open = this.state.openTools.includes(toolCallId);
    switch (signal.type) {
      case "tool.start": {
        if (open) return;
        const [oldest] = this.state.openTools.length < MAX_OPEN_TOOLS ? [] : this.state.openTools;
        if (oldest !== undefined) this.#tool({ type: "tool.end", toolCallId: oldest });
        this.#set({ openTools: [...this.state.openTools, toolCallId] });
        return this.#emit({ type: "subagent.tool.start", toolCallId, name: startOf(signal.name, 200) });
      }
      case "tool.args":
        if (!open) return;
        this.#see(signal.delta);
        return this.#emit({ type: "subagent.tool.args", toolCallId, delta: signal.delta });
      case "tool.end":
        if (!open) return;
        this.#set({ openTools: this.state.openTools.filter((id) => id !== toolCallId) });
        return this.#emit({ type: "subagent.tool.end", toolCallId });
      case "tool.result":
        this.#see(signal.content);
        return this.#emit({
          type: "subagent.tool.result",
          toolCallId,
          content: signal.content,
          isError: signal.isError,
        });
    }
  }

  #artifact({ artifact, error, data }: Extract<DelegationInput, { type: "artifact_collected" }>): void {
    this.#start();
    const collected = { artifact, ...defined({ error }) };
    const others = this.state.artifacts.filter((known) => known.artifact.id !== artifact.id);
    const kept = data === undefined ? collected : { ...collected, data };
    this.#set({ artifacts: [...others, kept], seen: this.state.seen + artifact.size });
    this.#emit({ type: "subagent.artifact", ...collected });
  }

  #ask(prompt: string, schema: unknown): void {
    if (this.state.inputRequired === "fail") {
      this.#status("input-required", prompt);
      return this.#stop("input_required", prompt);
    }
    this.#start();
    if (this.state.stop !== undefined) return;
    this.#closeText();
    this.#resolve("remote");
    const question = { prompt: startOf(prompt, MAX_WORDS), ...defined({ schema }) };
    this.#set({ question, status: "input-required" });
    this.#see(question.prompt);
    this.#emit({ type: "subagent.input_required", ...question });
    this.#effects.push("ask");
  }

  /** The question, if there is one, is answered or has become pointless. */
  #resolve(by: "person" | "parent" | "timeout" | "remote"): void {
    if (this.state.question === undefined) return;
    const { question: _resolved, ...rest } = this.state;
    this.state = rest;
    this.#emit({ type: "subagent.input_resolved", by });
  }

  /** A run's stream must not end with anything open in it; what follows opens its own again. */
  #detach(): void {
    if (this.state.detached) return;
    this.#start();
    const { cutText, openText = cutText } = this.state;
    this.#closeContent();
    this.#set(defined({ cutText: openText }));
    this.#emit({ type: "subagent.detached" });
    this.#set({ detached: true });
  }

  #stop(cause: StopCause, reason: string): void {
    const before = this.state.stop?.cause;
    if (before !== undefined && CAUSES.indexOf(before) >= CAUSES.indexOf(cause)) return;
    this.#set({ stop: { cause, reason: startOf(reason, MAX_WORDS) }, phase: "stopping" });
    if (before === undefined) this.#effects.push("cancel_remote");
  }

  #cancelAnswered(answer: RemoteCancelAnswer | undefined): void {
    if (this.state.stop === undefined) return;
    if (answer?.outcome === "cancelled") return this.#endStopped(true, "cancelled");
    if (answer?.outcome === "already_over") return this.#endStopped(true, answer.remoteStatus);
    this.#status("cancel_pending", "The remote agent has not confirmed that it stopped.");
    this.#answer(this.#stoppedStatus(), this.#stoppedError(this.state.status));
    this.#effects.push("watch_cancel");
  }

  /** The remote is at its end by itself. */
  #remoteEnd(status: FinalStatus, error: DelegationError | undefined, message?: string): void {
    if (this.state.stop !== undefined) return this.#endStopped(true, status);
    this.#start();
    this.#closing(message?.trim() ?? "");
    this.#closeAll();
    const result = this.#answer(status, error);
    const sizes = this.#sizes();
    if (status === "completed") this.#emit({ type: "subagent.finished", result, sizes });
    else if (status === "cancelled")
      this.#emit({
        type: "subagent.cancelled",
        reason: error?.message ?? "remote",
        confirmed: true,
        result,
        sizes,
      });
    else if (error !== undefined) this.#emit({ type: "subagent.failed", error, result, sizes });
    this.#end();
  }

  /** The remote's closing words: the summary when it said nothing else, a last status otherwise. */
  #closing(words: string): void {
    const { texts, growing } = this.state;
    if (words === "") return;
    if (texts.length > 0 || growing !== "") {
      if (growing.trim() !== words && texts.at(-1)?.trim() !== words) this.#status("completed", words);
      return;
    }
    this.#set({ texts: [words] });
    this.#see(words);
  }

  /** The delegation is at its end because it was stopped; the cause is what people and model are told. */
  #endStopped(confirmed: boolean, remoteStatus: string | undefined): void {
    const stop = this.state.stop;
    if (stop === undefined) return;
    this.#start();
    this.#closeAll();
    const error = this.#stoppedError(remoteStatus ?? this.state.status);
    const result = this.#answer(this.#stoppedStatus(), error);
    const sizes = this.#sizes();
    if (stop.cause === "cancel")
      this.#emit({ type: "subagent.cancelled", reason: stop.reason, confirmed, result, sizes });
    else this.#emit({ type: "subagent.failed", error, result, sizes });
    this.#end();
  }

  #stoppedStatus(): "cancelled" | "failed" {
    return this.state.stop?.cause === "cancel" ? "cancelled" : "failed";
  }

  #stoppedError(remoteStatus: string | undefined): DelegationError {
    const { cause, reason } = this.state.stop ?? { cause: "cancel", reason: "" };
    if (cause === "deadline") return this.#error("remote_timeout", reason, true, remoteStatus);
    if (cause === "input_required") return this.#error("input_required", reason, false, "input-required");
    return this.#error("cancelled", `Cancelled: ${reason}.`, false, remoteStatus);
  }

  #error(
    code: DelegationErrorCode,
    message: string,
    retryable: boolean,
    remoteStatus: string | undefined,
  ): DelegationError {
    return {
      code,
      message: startOf(message, MAX_WORDS),
      retryable,
      ...defined({ remoteStatus }),
    };
  }

  /** What the parent's model gets. Once it has been given, it stays what it is: a person is shown the same. */
  #answer(status: FinalStatus, error: DelegationError | undefined): DelegationResult {
    const { identity, texts, growing, artifacts, maxResultBytes, responseMode } = this.state;
    const said = growing === "" ? texts : [...texts, growing];
    const result = buildResult(
      {
        ...identity,
        status,
        texts: said,
        artifacts,
        responseMode,
        ...defined({ error }),
      },
      maxResultBytes,
    );
    if (this.state.answer !== undefined) return this.state.answer;
    // What the files say is in the result now; it need not be kept twice.
    this.#set({ answer: result, artifacts: artifacts.map(({ data: _data, ...rest }) => rest) });
    this.#effects.push("answer");
    return result;
  }

  #sizes(): { seen: number; model: number } {
    return { seen: this.state.seen, model: Buffer.byteLength(JSON.stringify(this.state.answer)) };
  }

  #closeText(): void {
    const { openText: messageId, cutText: _past, ...rest } = this.state;
    this.state = rest;
    if (messageId === undefined) return;
    this.#set({ texts: [...rest.texts, rest.growing].slice(-MAX_TEXTS), growing: "" });
    this.#emit({ type: "subagent.text.end", messageId });
  }

  #closeReasoning(): void {
    const { openReasoning: messageId, ...rest } = this.state;
    if (messageId === undefined) return;
    this.state = rest;
    this.#emit({ type: "subagent.reasoning.end", messageId });
  }

  #closeAll(): void {
    this.#resolve("remote");
    this.#closeContent();
  }

  #closeContent(): void {
    this.#closeReasoning();
    for (const toolCallId of this.state.openTools) this.#emit({ type: "subagent.tool.end", toolCallId });
    this.#set({ openTools: [] });
    this.#closeText();
  }

  #end(): void {
    this.#set({ phase: "over" });
    this.#effects.push("end");
  }

  #see(text: string): void {
    this.#set({ seen: this.state.seen + Buffer.byteLength(text) });
  }

  #set(change: Partial<DelegationState>): void {
    this.state = { ...this.state, ...change };
  }

  #emit(change: SubagentChange): void {
    if (this.state.detached) {
      this.#set({ detached: false });
      this.#emit({ type: "subagent.resumed" });
    }
    this.#events.push({ ...change, ...this.state.identity } as SubagentEvent);
  }
}
