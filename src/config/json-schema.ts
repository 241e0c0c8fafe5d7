import { z } from "zod";
import { configSchema } from "./schema.js";

/** Where the schema is within the package. */
export const SCHEMA_PATH = "schema/troupe.config.schema.json";

type Json = Record<string, unknown>;

/**
 * The JSON Schema of a config, for editors. It is more liberal than {@link configSchema} in what depends on other members, and every
 * text may have variables.
 */
export function configJsonSchema(): Json {
  const { $schema, ...rest } = z.toJSONSchema(configSchema, {
    io: "input",
    // Editors know it best.
    target: "draft-7",
    override: ({ jsonSchema }) => allowVariables(jsonSchema as Json),
  }) as Json;
  return {
    $schema,
    title: "Configuration of Troupe",
    description: "Local agents, and the agents that they may call.",
    ...rest,
  };
}

/** A text with `${NAME}` in it is checked when the variable is known. */
function allowVariables(schema: Json): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format === "uri") {
    delete schema.format;
    schema.pattern = "^https?://|\\$\\{";
  } else if (typeof schema.pattern === "string" && schema.type === "string") {
    schema.pattern = `${schema.pattern}|\\$\\{`;
  }
}
