import type { ItemView, RunView, SubagentView, ThreadView } from "../../../src/client/index.js";
import { summaryOf } from "../../../src/client/index.js";

/** Something of a thread that has words, where it stands, and what is around it, the outermost first. */
export interface Place {
  /** `data-place` of its element. */
  readonly place: string;
  readonly owners: readonly string[];
  readonly texts: readonly string[];
}

/** The place of an item in a list. Its id would not do: ids may come back. */
export function itemPlace(owner: string, index: number): string {
  return `${owner}:${index}`;
}

/** The place of a person's message. */
export function messagePlace(runId: string, index: number): string {
  return `${runId}:you:${index}`;
}

/** Everything of a thread that has words, in the order of the page. */
export function* placesOf(view: ThreadView): Generator<Place, void, undefined> {
  for (const run of view.runs) {
    const owners = [run.runId];
    for (const [index, { text }] of run.userMessages.entries())
      yield { place: messagePlace(run.runId, index), owners, texts: [text] };
    yield* itemPlaces(run.items, run.runId, owners);
    for (const subagent of run.subagents) yield* subagentPlaces(subagent, owners);
  }
}

function* itemPlaces(
  items: readonly ItemView[],
  owner: string,
  owners: readonly string[],
): Generator<Place, void, undefined> {
  for (const [index, item] of items.entries()) {
    const place = itemPlace(owner, index);
    if (item.kind !== "tool") yield { place, owners, texts: [item.text] };
    else {
      yield { place, owners, texts: [item.name, item.arguments, item.result ?? ""] };
      for (const subagent of item.subagents) yield* subagentPlaces(subagent, owners);
      yield* itemPlaces(item.items, item.id, [...owners, item.id]);
    }
  }
}

function* subagentPlaces(
  subagent: SubagentView,
  owners: readonly string[],
): Generator<Place, void, undefined> {
  const { delegationId, agentName, objective, statusMessage, prompt, artifacts } = subagent;
  const files = artifacts.map(({ name }) => name);
  // What the card shows as its summary may be its last text, which is found in its items.
  const summary = subagent.result === undefined && !subagent.error ? "" : summaryOf(subagent);
  const texts = [agentName, objective, statusMessage ?? "", prompt ?? "", summary, ...files];
  yield { place: delegationId, owners, texts };
  yield* itemPlaces(subagent.items, delegationId, [...owners, delegationId]);
}

/** What is around a delegation's card in its run. */
export function ownersOfCard(run: RunView, delegationId: string): readonly string[] {
  const walk = (items: readonly ItemView[], owners: readonly string[]): readonly string[] | undefined => {
    for (const item of items) {
      if (item.kind !== "tool") continue;
      if (item.subagents.some((subagent) => subagent.delegationId === delegationId)) return owners;
      const found = walk(item.items, [...owners, item.id]);
      if (found) return found;
    }
    return undefined;
  };
  return walk(run.items, [run.runId]) ?? [run.runId];
}
