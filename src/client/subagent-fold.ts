import type { ArtifactDescription, BoundarySizes } from "../delegation/events.js";
import { ContentFold } from "./content-fold.js";
import { type Members, membersOf, nameOf, numberOf, textOf } from "./members.js";
import { type ErrorView, isSubagentOver, type SubagentState, type SubagentView } from "./view.js";
import type { ViewTree, Writable } from "./view-tree.js";

/** Folds the events of one delegation. */
export class SubagentFold {
  readonly view: Writable<SubagentView>;
  readonly #tree: ViewTree;
  readonly #content: ContentFold;
  readonly #artifacts = new Map<string, number>();
  /** Set while the end was only concluded from the run's: the delegation's own end still counts. */
  #assumed = false;

  constructor(tree: ViewTree, delegationId: string, runId: string, time: number) {
    this.view = {
      version: 0,
      delegationId,
      runId,
      agentKey: "",
      agentName: "",
      protocol: "a2a",
      objective: "",
      questionCount: 0,
      state: "starting",
      items: [],
      artifacts: [],
      startedAt: time,
      phases: [{ state: "starting", from: time }],
      marks: [],
    };
    this.#tree = tree;
    this.#content = new ContentFold(tree, this.view);
  }

  /** @param change the event's name without `subagent.`. */
  apply(change: string, value: Members, time: number): void {
    this.#identify(value);
    const over = isSubagentOver(this.view.state) && !this.#assumed;
    if (over) return;
    if (!this.#applyEnd(change, value, time)) {
      if (this.#assumed) return;
      this.#applyState(change, value, time);
      this.#applyContent(change, value, time);
    }
    this.#tree.touch(this.view);
  }

  /** The run is over and this delegation's own end has not come. */
  runEnded(time: number): void {
    if (isSubagentOver(this.view.state) || this.view.detached) return;
    this.#end("stopped", time);
    this.#assumed = true;
    this.#tree.touch(this.view);
  }

  #identify(value: Members): void {
    const { view } = this;
    const before = view.agentName + view.remoteTaskId + view.remoteContextId;
    view.agentKey = nameOf(value, "agentKey") ?? view.agentKey;
    view.agentName = nameOf(value, "agentName") ?? (view.agentName || view.agentKey);
    const protocol = value.protocol;
    if (protocol === "a2a" || protocol === "agui" || protocol === "local") view.protocol = protocol;
    const remoteTaskId = nameOf(value, "remoteTaskId");
    if (remoteTaskId !== undefined) view.remoteTaskId = remoteTaskId;
    const remoteContextId = nameOf(value, "remoteContextId");
    if (remoteContextId !== undefined) view.remoteContextId = remoteContextId;
    if (before !== view.agentName + view.remoteTaskId + view.remoteContextId) this.#tree.touch(view);
  }

  #applyState(change: string, value: Members, time: number): void {
    const { view } = this;
    if (change === "started" || change === "correlated") this.#origin(value);
    if (change === "started") {
      view.objective = textOf(value, "objective") ?? view.objective;
    } else if (change === "status") {
      this.#move(stateOf(textOf(value, "status") ?? ""), time);
      const message = textOf(value, "message");
      if (message !== undefined) view.statusMessage = message;
    } else if (change === "input_required") {
      this.#move("needs_you", time);
      const prompt = textOf(value, "prompt");
      if (prompt !== undefined) view.prompt = prompt;
      view.takesAnswer = true;
      view.questionCount++;
      if (value.schema !== undefined) view.schema = value.schema;
      view.marks.push({ kind: "input", time, label: prompt ?? "" });
    } else if (change === "detached") {
      view.detached = true;
    } else if (change === "input_resolved") {
      if (view.state === "needs_you") this.#move("working", time);
    } else if (change !== "correlated" && view.state === "starting") {
      // Words, tools and artifacts only come from an agent at work.
      this.#move("working", time);
    }
  }

  /** How it came about: which call asked for it, and whose card it was started by. */
  #origin(value: Members): void {
    const { view } = this;
    const { correlation } = value;
    if (correlation === "strong" || correlation === "medium" || correlation === "none")
      view.correlation = correlation;
    const cardFingerprint = nameOf(value, "cardFingerprint");
    if (cardFingerprint !== undefined) view.cardFingerprint = cardFingerprint;
    const cardChangedFrom = nameOf(value, "cardChangedFrom");
    if (cardChangedFrom !== undefined) view.cardChangedFrom = cardChangedFrom;
  }

  #applyContent(change: string, value: Members, time: number): void {
    const content = this.#content;
    const messageId = textOf(value, "messageId") ?? "";
    const toolCallId = textOf(value, "toolCallId") ?? "";
    const delta = textOf(value, "delta") ?? "";
    switch (change) {
      case "text.start":
        content.textStart("text", messageId);
        break;
      case "text.delta":
        content.textDelta("text", messageId, delta);
        break;
      case "text.end":
        content.textEnd("text", messageId);
        break;
      case "reasoning.start":
        content.textStart("reasoning", messageId);
        break;
      case "reasoning.delta":
        content.textDelta("reasoning", messageId, delta);
        break;
      case "reasoning.end":
        content.textEnd("reasoning", messageId);
        break;
      case "tool.start":
        content.toolStart(toolCallId, { name: textOf(value, "name") ?? "" }, time);
        break;
      case "tool.args":
        content.toolArguments(toolCallId, delta, time);
        break;
      case "tool.end":
        content.toolEnd(toolCallId);
        break;
      case "tool.result": {
        const how = { isError: value.isError === true, synthetic: false };
        content.toolResult(toolCallId, textOf(value, "content") ?? "", how, time);
        break;
      }
      case "artifact":
        this.#artifact(value.artifact, time);
        break;
    }
  }

  #applyEnd(change: string, value: Members, time: number): boolean {
    const { view } = this;
    if (change === "finished") this.#end("done", time);
    else if (change === "failed") {
      this.#end("failed", time);
      view.error = errorOf(value.error);
    } else if (change === "cancelled") {
      this.#end("stopped", time);
      view.reason = textOf(value, "reason") ?? "";
      view.confirmed = value.confirmed === true;
    } else return false;
    this.#assumed = false;
    if ("result" in value) view.result = value.result;
    const sizes = sizesOf(value.sizes);
    if (sizes) view.sizes = sizes;
    return true;
  }

  #end(state: SubagentState, time: number): void {
    // An end that was only concluded gives way to the real one.
    if (this.#assumed && this.view.phases.at(-1)?.from === this.view.endedAt) this.view.phases.pop();
    this.view.state = state;
    this.view.endedAt = time;
    this.view.phases.push({ state, from: time });
    this.#forgetQuestion();
    this.#content.close(time);
  }

  /** Once a stop was asked for, only the end changes the state. */
  #move(state: SubagentState, time: number): void {
    if (this.view.state === "stopping") return;
    if (this.view.state !== state) this.view.phases.push({ state, from: time });
    this.view.state = state;
    if (state !== "needs_you") this.#forgetQuestion();
  }

  #forgetQuestion(): void {
    delete this.view.prompt;
    delete this.view.takesAnswer;
    delete this.view.schema;
  }

  #artifact(value: unknown, time: number): void {
    const artifact = artifactOf(value);
    if (!artifact) return;
    const index = this.#artifacts.get(artifact.id);
    if (index === undefined) {
      this.#artifacts.set(artifact.id, this.view.artifacts.push(artifact) - 1);
      this.view.marks.push({ kind: "artifact", time, label: artifact.name });
    } else this.view.artifacts[index] = artifact;
  }
}

/** A remote's own word for its state, whatever its protocol's spelling, as one of ours. */
function stateOf(status: string): SubagentState {
  const word = status
    .toLowerCase()
    .replaceAll("-", "_")
    .replace(/^task_state_/, "");
  if (word === "submitted" || word === "queued" || word === "accepted" || word === "starting")
    return "starting";
  if (word === "input_required" || word === "auth_required") return "needs_you";
  if (word === "cancel_pending" || word === "cancelling" || word === "canceling") return "stopping";
  return "working";
}

/** Reads an error of an event; a missing part is filled in rather than shown as nothing. */
export function errorOf(value: unknown): ErrorView {
  const members = membersOf(value);
  const remoteStatus = nameOf(members, "remoteStatus");
  return {
    code: nameOf(members, "code") ?? "internal",
    message: nameOf(members, "message") ?? "It failed without saying why.",
    retryable: members.retryable === true,
    ...(remoteStatus !== undefined && { remoteStatus }),
  };
}

function sizesOf(value: unknown): BoundarySizes | undefined {
  const members = membersOf(value);
  const seen = numberOf(members, "seen");
  const model = numberOf(members, "model");
  return seen === undefined || model === undefined ? undefined : { seen, model };
}

function artifactOf(value: unknown): ArtifactDescription | undefined {
  const members = membersOf(value);
  const id = nameOf(members, "id");
  if (id === undefined) return undefined;
  const preview = textOf(members, "preview");
  return {
    id,
    name: nameOf(members, "name") ?? id,
    mimeType: nameOf(members, "mimeType") ?? "application/octet-stream",
    uri: textOf(members, "uri") ?? "",
    size: numberOf(members, "size") ?? 0,
    sha256: textOf(members, "sha256") ?? "",
    ...(preview !== undefined && { preview }),
  };
}
