import { memo, useEffect, useState } from "react";
import type { ItemView, TextView } from "../../../src/client/index.js";
import { itemPlace } from "../search/places.js";
import { useTargetIn } from "../thread/page-focus.js";
import { Icon } from "./icon.js";
import { Markdown, StreamingMarkdown } from "./markdown.js";
import { ToolCall } from "./tool-call.js";

/** At least this many of the last items are shown. */
const LAST_SHOWN = 60;
/** Items come and go from the beginning in steps, so that a reader's place does not move with each. */
const STEP = 40;

/** Where a list of `length` begins to be shown: the newest items always are. */
export function firstShown(length: number, lastShown = LAST_SHOWN, step = STEP): number {
  return Math.max(0, Math.floor((length - lastShown) / step) * step);
}

/** Holds the place from which a list is shown; a person, or something that is looked for in `owner`, moves it back. */
export function useFirstShown(owner: string, length: number, lastShown?: number, step = STEP) {
  const [moved, setMoved] = useState<number>();
  const target = useTargetIn(owner);
  const first = Math.min(moved ?? Number.POSITIVE_INFINITY, firstShown(length, lastShown, step));
  useEffect(() => {
    if (!target) return;
    const index = Number(target.place.slice(owner.length + 1));
    const own = target.place.startsWith(`${owner}:`) && Number.isInteger(index);
    // Which of the items it is in is not known here when it is deeper.
    setMoved((before) => Math.min(before ?? Number.POSITIVE_INFINITY, own ? Math.max(0, index - 5) : 0));
  }, [target, owner]);
  return { first, showEarlier: () => setMoved(Math.max(0, first - 5 * step)) };
}

/**
 * What an agent said, thought and did, in order. Of a long list only the end is there at first.
 * @param owner id of what the items belong to.
 */
export function ItemList({ items, owner }: { items: readonly ItemView[]; owner: string }) {
  const { first, showEarlier } = useFirstShown(owner, items.length);
  // Items are only ever added at the end, and their ids may come back, so the place is the key.
  return (
    <>
      {first > 0 && (
        <button type="button" className="earlier" onClick={showEarlier}>
          {`Show earlier (${first})`}
        </button>
      )}
      {items.slice(first).map((item, offset) => {
        const place = itemPlace(owner, first + offset);
        if (item.kind === "tool")
          return <ToolCall key={place} call={item} version={item.version} place={place} />;
        if (item.text === "") return null;
        if (item.kind === "reasoning")
          return <Reasoning key={place} item={item} version={item.version} place={place} owner={owner} />;
        return <Message key={place} item={item} version={item.version} place={place} />;
      })}
    </>
  );
}

interface TextProps {
  readonly item: TextView;
  readonly version: number;
  readonly place: string;
}

const Message = memo(function Message({ item, place }: TextProps) {
  return (
    <div className="message" data-place={place}>
      {item.done ? <Markdown text={item.text} /> : <StreamingMarkdown text={item.text} />}
    </div>
  );
});

const Reasoning = memo(function Reasoning({ item, place, owner }: TextProps & { owner: string }) {
  const [open, setOpen] = useState(false);
  const target = useTargetIn(owner);
  useEffect(() => {
    if (target?.place === place) setOpen(true);
  }, [target, place]);
  return (
    <details
      className="reasoning"
      data-place={place}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Icon name="chevron" className="turns" /> {item.done ? "Thought" : "Thinking…"}
      </summary>
      {open && <div className="prose plain">{item.text}</div>}
    </details>
  );
});
