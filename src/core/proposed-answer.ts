/**
 * The answer that a question's own form proposes: for each field its default, or the first of its choices.
 * @param schema JSON Schema of an object, as programs ask with
 * @returns `undefined` when a field that is needed proposes nothing.
 */
export function proposedAnswer(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  const { properties, required } = asRecord(schema);
  const fields = Object.entries(asRecord(properties));
  if (fields.length === 0) return undefined;
  const answer: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const proposal = proposalOf(asRecord(field));
    if (proposal !== undefined) answer[name] = proposal;
    else if (Array.isArray(required) && required.includes(name)) return undefined;
  }
  return answer;
}

function proposalOf(field: Readonly<Record<string, unknown>>): unknown {
  const first = (list: unknown): unknown => (Array.isArray(list) ? list[0] : undefined);
  return field.default ?? first(field.enum) ?? asRecord(first(field.oneOf)).const ?? first(field.examples);
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
