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

function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  // Only pages from HTTPS or loopback may write to the clipboard.
  if (!navigator.clipboard) return null;
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  return (
    <button type="button" className="button quiet copy" onClick={copy} onBlur={() => setCopied(false)}>
      <Icon name={copied ? "check" : "copy"} />
      {copied ? "Copied" : "Copy"}
    </button>
  );
}
