import { type FormEvent, useState } from "react";

interface AnswerFormProps {
  /** JSON Schema of the answer. */
  readonly schema: unknown;
  readonly disabled: boolean;
  readonly onAnswer: (input: unknown) => void;
}

interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: "text" | "number" | "boolean" | "choice";
  readonly choices: readonly string[];
  readonly required: boolean;
}

/** A form for the flat object that a schema describes; one box for text when it describes something else, or nothing. */
export function AnswerForm({ schema, disabled, onAnswer }: AnswerFormProps) {
  const fields = fieldsOf(schema);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const set = (name: string, value: string) => setValues((before) => ({ ...before, [name]: value }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!disabled) onAnswer(fields.length === 0 ? (values.text ?? "") : answerOf(fields, values));
  };
  return (
    <form className="answer" onSubmit={submit}>
      {fields.length === 0 ? (
        <label>
          <span>Your answer</span>
          <input
            required
            value={values.text ?? ""}
            disabled={disabled}
            onChange={(event) => set("text", event.target.value)}
          />
        </label>
      ) : (
        fields.map((field) => (
          // biome-ignore lint/a11y/noLabelWithoutControl: FieldInput is one
          <label key={field.name} className={field.kind}>
            <span>
              {field.title}
              {field.required && <span className="muted"> (required)</span>}
            </span>
            {field.description && <span className="muted small-text">{field.description}</span>}
            <FieldInput
              field={field}
              value={values[field.name] ?? ""}
              disabled={disabled}
              onChange={(value) => set(field.name, value)}
            />
          </label>
        ))
      )}
      <button type="submit" className="button primary" disabled={disabled}>
        Answer
      </button>
    </form>
  );
}

interface FieldInputProps {
  readonly field: Field;
  readonly value: string;
  readonly disabled: boolean;
  readonly onChange: (value: string) => void;
}

function FieldInput({ field, value, disabled, onChange }: FieldInputProps) {
  const common = { disabled, required: field.required };
  if (field.kind === "boolean") {
    return (
      <input
        type="checkbox"
        disabled={disabled}
        checked={value === "true"}
        onChange={(event) => onChange(String(event.target.checked))}
      />
    );
  }
  if (field.kind === "choice") {
    return (
      <select {...common} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">Choose…</option>
        {field.choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  return (
    <input
      {...common}
      type={field.kind === "number" ? "number" : "text"}
      step="any"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function fieldsOf(schema: unknown): Field[] {
  const { properties, required } = membersOf(schema);
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(membersOf(properties)).map(([name, value]) => {
    const member = membersOf(value);
    const choices = Array.isArray(member.enum) ? member.enum.map(String) : [];
    const number = member.type === "number" || member.type === "integer";
    return {
      name,
      title: typeof member.title === "string" ? member.title : name,
      description: typeof member.description === "string" ? member.description : "",
      kind:
        choices.length > 0 ? "choice" : member.type === "boolean" ? "boolean" : number ? "number" : "text",
      choices,
      required: needed.includes(name),
    };
  });
}

/** What was left empty is left out. */
function answerOf(
  fields: readonly Field[],
  values: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const answer: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const value = values[name] ?? "";
    if (kind === "boolean") answer[name] = value === "true";
    else if (value !== "") answer[name] = kind === "number" ? Number(value) : value;
  }
  return answer;
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
