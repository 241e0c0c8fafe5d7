import { SseParser } from "./sse-reader.js";
import { formatSse } from "./sse-writer.js";

/** Some servers put a record separator (U+001E) or other controls in front of the JSON. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are the characters to remove
const LEADING_CONTROLS = /^[\u0000-\u0020\uFEFF]+(?=[{[])/;

/** `text` without the characters before its JSON that a JSON parser would choke on. */
export function withoutLeadingControls(text: string): string {
  const first = text.charCodeAt(0);
  return first === 0x7b || first === 0x5b ? text : text.replace(LEADING_CONTROLS, "");
}

/** Frames whole events anew. A fault is handed over apart, so that the events before it still go out. */
export function reframe(maxEventBytes: number, check: ((data: string) => void) | undefined) {
  const parser = new SseParser({ maxEventBytes });
  const encoder = new TextEncoder();
  return (bytes: Uint8Array, onFault: (error: unknown) => void): Uint8Array => {
    let frames = "";
    try {
      for (const event of parser.push(bytes)) {
        const data = withoutLeadingControls(event.data);
        check?.(data);
        frames += formatSse({ ...event, data });
      }
    } catch (error) {
      onFault(error);
    }
    return encoder.encode(frames);
  };
}
