import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useTick } from "../parts/elapsed.js";
import { Icon } from "../parts/icon.js";
import { usePageFocus, useTarget } from "../thread/page-focus.js";
import type { ThreadStore } from "../thread/thread-store.js";
import { paintMatches } from "./paint-matches.js";
import { MOST_MATCHES, searchThread } from "./search-thread.js";

interface SearchBarProps {
  readonly store: ThreadStore;
  readonly onClose: () => void;
}

/** Looks for words in everything of the thread, also in what is folded, and goes from one place to the next. */
export function SearchBar({ store, onClose }: SearchBarProps) {
  const focus = usePageFocus();
  const [query, setQuery] = useState("");
  const [current, setCurrent] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const wanted = useDeferredValue(query);
  const searching = wanted.trim() !== "";
  // What streams in is searched once a second, not with every word.
  const second = Math.floor(useTick(searching) / 1_000);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the view changes in place
  const matches = useMemo(() => searchThread(store.view, wanted), [store, wanted, searching ? second : 0]);
  const index = matches.findIndex(({ place }) => place === current);
  usePaint(searching ? wanted : "", second);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => () => focus.goTo(undefined), [focus]);

  const step = (by: number) => {
    // What was just typed counts, though it may not have been searched for yet.
    const found = query === wanted ? matches : searchThread(store.view, query);
    const { length } = found;
    if (length === 0) return;
    const at = found.findIndex(({ place }) => place === current);
    const from = at < 0 && by < 0 ? 0 : at;
    const next = found[(from + by + length) % length];
    if (!next) return;
    setCurrent(next.place);
    focus.goTo({ owners: new Set(next.owners), place: next.place });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      // Not the first of the two that stop the run.
      event.stopPropagation();
      onClose();
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    }
  };
  return (
    <search className="search-bar">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label="Search this thread"
        placeholder="Search words, agents, tools, files…"
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setCurrent(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      <output className="muted" aria-live="polite">
        {searching ? countOf(index, matches.length) : ""}
      </output>
      <button
        type="button"
        className="button quiet small"
        aria-label="Previous match"
        disabled={matches.length === 0}
        onClick={() => step(-1)}
      >
        <Icon name="chevron" className="upwards" />
      </button>
      <button
        type="button"
        className="button quiet small"
        aria-label="Next match"
        disabled={matches.length === 0}
        onClick={() => step(1)}
      >
        <Icon name="chevron" className="downwards" />
      </button>
      <button type="button" className="button quiet small" aria-label="Close search" onClick={onClose}>
        <Icon name="cross" />
      </button>
    </search>
  );
}

function countOf(index: number, count: number): string {
  if (count === 0) return "No match";
  const all = count === MOST_MATCHES ? `${MOST_MATCHES} or more` : String(count);
  return index < 0 ? `${all} ${count === 1 ? "match" : "matches"}` : `${index + 1} of ${all}`;
}

function usePaint(query: string, second: number): void {
  const target = useTarget();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a second later, or somewhere else, there is more to paint
  useEffect(() => {
    let clear = () => {};
    // What the target unfolds is there a frame later.
    const timer = setTimeout(() => {
      clear = paintMatches(document.querySelector("main"), query);
    }, 60);
    return () => {
      clearTimeout(timer);
      clear();
    };
  }, [query, second, target]);
}
