import { asList, asObject, asText } from "../process/json.js";

/** What the model was given as a tool's result, as one text: a string, or blocks of which only the text has one. */
export function toolResultText(content: unknown): string {
  if (typeof content === "string") return content;
  return asList(content)
    .map((value) => {
      const block = asObject(value);
      if (typeof block.text === "string") return block.text;
      return `[${asText(block.type) ?? "unknown content"}]`;
    })
    .join("\n");
}
