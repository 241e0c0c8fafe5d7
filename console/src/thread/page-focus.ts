import { createContext, useContext, useSyncExternalStore } from "react";

/** Where a search or the timeline wants the page to go: an item, or a delegation's card. */
export interface Target {
  /** What stands around it and has to be unfolded: ids of delegations and tool calls, and of the run. */
  readonly owners: ReadonlySet<string>;
  /** `data-place` of the element. */
  readonly place: string;
}

/** What the person looks at: a card that is highlighted, one that is inspected, a place to go to, a run that is played again. */
export class PageFocus {
  readonly #listeners = new Set<() => void>();
  #highlighted: string | undefined;
  #inspected: string | undefined;
  #replayed: string | undefined;
  #target: Target | undefined;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  get highlighted(): string | undefined {
    return this.#highlighted;
  }

  get inspected(): string | undefined {
    return this.#inspected;
  }

  /** The run that is played again. */
  get replayed(): string | undefined {
    return this.#replayed;
  }

  get target(): Target | undefined {
    return this.#target;
  }

  /** @param delegationId `undefined` for none. */
  highlight(delegationId: string | undefined): void {
    if (this.#highlighted === delegationId) return;
    this.#highlighted = delegationId;
    this.#changed();
  }

  inspect(delegationId: string | undefined): void {
    this.#inspected = delegationId;
    this.#changed();
  }

  replay(runId: string | undefined): void {
    this.#replayed = runId;
    this.#target = undefined;
    this.#changed();
  }

  /** Unfolds what is around a place, and brings it into view. */
  goTo(target: Target | undefined): void {
    this.#target = target;
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

const Context = createContext(new PageFocus());

export const FocusProvider = Context.Provider;

export function usePageFocus(): PageFocus {
  return useContext(Context);
}

export function useHighlighted(delegationId: string): boolean {
  const focus = usePageFocus();
  return useSyncExternalStore(focus.subscribe, () => focus.highlighted === delegationId);
}

export function useInspected(): string | undefined {
  const focus = usePageFocus();
  return useSyncExternalStore(focus.subscribe, () => focus.inspected);
}

/** The target, when it lies within what `owner` names; else `undefined`, so that nothing renders in vain. */
export function useTargetIn(owner: string): Target | undefined {
  const focus = usePageFocus();
  return useSyncExternalStore(focus.subscribe, () =>
    focus.target?.owners.has(owner) ? focus.target : undefined,
  );
}

export function useTarget(): Target | undefined {
  const focus = usePageFocus();
  return useSyncExternalStore(focus.subscribe, () => focus.target);
}
