import { asList, asObject, asText, type JsonObject } from "../process/json.js";

/** The questions of the program's own tool `AskUserQuestion` as one form. */
export interface Question {
  readonly title: string;
  /** JSON Schema of the answer: one property per question, named by the question itself as the tool wants it. */
  readonly schema: JsonObject;
}

/** Reads the tool's arguments; `undefined` when they hold no question. */
export function readQuestion(input: JsonObject): Question | undefined {
  const properties: Record<string, JsonObject> = {};
  for (const value of asList(input.questions)) {
    const { question, header, multiSelect, options } = asObject(value);
    const text = asText(question);
    if (text === undefined) continue;
    const labels = asList(options).flatMap((option) => asText(asObject(option).label) ?? []);
    properties[text] = {
      type: "string",
      title: asText(header) ?? text,
      description: multiSelect === true ? `${text} (several, separated by commas)` : text,
      // People may answer in their own words, so the labels are a proposal.
      ...(labels.length > 0 ? { examples: labels } : {}),
    };
  }
  const questions = Object.keys(properties);
  const [title] = questions;
  if (title === undefined) return undefined;
  return { title, schema: { type: "object", properties, required: questions } };
}
