/** What placeholders stand for. */
export interface PlaceholderValues {
  readonly prompt: string;
  /** Tool results of the turn as the model sees them, in the order of the calls. */
  readonly results: readonly string[];
}

/**
 * Replaces `{{prompt}}`, `{{result.N}}` and `{{result.N.path.to.field}}` (of a result that is JSON) in every text inside `value`.
 * What cannot be found becomes `(nothing)`; a path into a result that is no JSON gives the whole result.
 */
export function fillPlaceholders<T>(value: T, values: PlaceholderValues): T {
  return fill(value, values) as T;
}

function fill(value: unknown, values: PlaceholderValues): unknown {
  if (typeof value === "string") {
    return value.replaceAll(
      /\{\{(prompt|result\.(\d+)((?:\.\w+)*))\}\}/g,
      (_, name: string, index: string, path: string) =>
        name === "prompt" ? values.prompt : lookUp(values.results[Number(index)], path.split(".").slice(1)),
    );
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, values));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, values)]));
}

function lookUp(result: string | undefined, path: readonly string[]): string {
  if (result === undefined) return "(nothing)";
  if (path.length === 0) return result;
  let value: unknown;
  try {
    value = JSON.parse(result);
  } catch {
    return result;
  }
  for (const key of path) {
    value =
      typeof value === "object" && value !== null
        ? Object.entries(value).find(([name]) => name === key)?.[1]
        : undefined;
  }
  if (value === undefined) return "(nothing)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
