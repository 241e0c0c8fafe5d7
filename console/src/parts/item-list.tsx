import { memo } from "react";
import type { ItemView, TextView } from "../../../src/client/index.js";
import { Icon } from "./icon.js";
import { Markdown, StreamingMarkdown } from "./markdown.js";
import { ToolCall } from "./tool-call.js";

/** What an agent said, thought and did, in order. */
export function ItemList({ items }: { items: readonly ItemView[] }) {
  // Items are only ever added at the end, and their ids may come back, so the place is the key.
  return items.map((item, key) => {
    // biome-ignore-start lint/suspicious/noArrayIndexKey: see above
    if (item.kind === "tool") return <ToolCall key={key} call={item} version={item.version} />;
    if (item.text === "") return null;
    if (item.kind === "reasoning") return <Reasoning key={key} item={item} version={item.version} />;
    return <Message key={key} item={item} version={item.version} />;
    // biome-ignore-end lint/suspicious/noArrayIndexKey: see above
  });
}

const Message = memo(function Message({ item }: { item: TextView; version: number }) {
  return item.done ? <Markdown text={item.text} /> : <StreamingMarkdown text={item.text} />;
});

const Reasoning = memo(function Reasoning({ item }: { item: TextView; version: number }) {
  return (
    <details className="reasoning">
      <summary>
        <Icon name="chevron" className="turns" /> {item.done ? "Thought" : "Thinking…"}
      </summary>
      <div className="prose plain">{item.text}</div>
    </details>
  );
});
