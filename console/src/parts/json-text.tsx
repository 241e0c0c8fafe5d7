import { useState } from "react";
import { Icon } from "./icon.js";

/** JSON text laid out for reading; what is copied is the text itself. Text that is no JSON is shown as it is. */
export function JsonText({ text }: { text: string }) {
  return (
    <div className="json">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard */}
      <pre tabIndex={0}>{laidOut(text)}</pre>
      <CopyButton text={text} />
    </div>
  );
}

function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Copies a text, which may be made only then. Not there where pages may not write to the clipboard. */
export function CopyButton({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [copied, setCopied] = useState(false);
  // Only pages from HTTPS or loopback may write to the clipboard.
  if (!navigator.clipboard) return null;
  const copy = () =>
    navigator.clipboard.writeText(typeof text === "string" ? text : text()).then(
      () => setCopied(true),
      () => undefined,
    );
  return (
    <button type="button" className="button quiet copy" onClick={copy} onBlur={() => setCopied(false)}>
      <Icon name={copied ? "check" : "copy"} />
      {copied ? "Copied" : label}
    </button>
  );
}
