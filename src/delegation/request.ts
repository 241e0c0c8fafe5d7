import { z } from "zod";
import { TroupeError } from "../core/errors.js";
import type { DelegationErrorCode } from "./events.js";

/** Characters of an objective or prompt; programs send prompts of a megabyte. */
const MAX_TEXT = 1_048_576;

const text = z.string().max(MAX_TEXT);

const artifactReference = z.strictObject({
  name: z.string().min(1).max(255),
  uri: z
    .string()
    .max(2_048)
    .regex(/^host:\/\//, "must be a host:// reference from an earlier result; URLs are not accepted"),
  mime_type: z.string().max(255).optional(),
});

const requestSchema = z.strictObject({
  agent: z.string().min(1).max(128),
  objective: text.min(1),
  input: z
    .strictObject({
      prompt: text.optional(),
      context: text.optional(),
      artifacts: z.array(artifactReference).max(50).optional(),
    })
    .optional(),
  constraints: z
    .strictObject({
      timeout_seconds: z.number().positive().max(86_400).optional(),
      stream: z.boolean().optional(),
      max_artifacts: z.int().min(0).max(1_000).optional(),
    })
    .optional(),
});

/** What a parent's model may ask for. Field names are the tool's. */
export type DelegationRequest = z.infer<typeof requestSchema> & {
  /** The skill that is asked for; set by a skill's own tool, never by the generic one. */
  readonly skillId?: string;
};

/** The same as JSON Schema, with the agents that may be called as an enum. */
export function requestJsonSchema(agents: readonly string[]): Record<string, unknown> {
  const artifact = {
    type: "object",
    properties: {
      name: { type: "string" },
      uri: { type: "string", description: "A host:// reference from an earlier result." },
      mime_type: { type: "string" },
    },
    required: ["name", "uri"],
    additionalProperties: false,
  };
  return {
    type: "object",
    properties: {
      agent: { type: "string", enum: [...agents], description: "Which agent to call." },
      objective: {
        type: "string",
        minLength: 1,
        description: "What the agent shall achieve, complete in itself.",
      },
      input: {
        type: "object",
        properties: {
          prompt: { type: "string", description: "Detailed instructions." },
          context: { type: "string", description: "Background that the agent cannot know." },
          artifacts: { type: "array", items: artifact },
        },
        additionalProperties: false,
      },
      constraints: {
        type: "object",
        properties: {
          timeout_seconds: { type: "number", exclusiveMinimum: 0 },
          stream: { type: "boolean" },
          max_artifacts: { type: "integer", minimum: 0 },
        },
        additionalProperties: false,
      },
    },
    required: ["agent", "objective"],
    additionalProperties: false,
  };
}

/**
 * Parses a tool call's arguments.
 * @throws TroupeError `invalid_input`, naming each field and what is allowed.
 */
export function parseRequest(input: unknown): DelegationRequest {
  const parsed = requestSchema.safeParse(input);
  if (!parsed.success) {
    const problems = parsed.error.issues
      .slice(0, 5)
      .map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`);
    throw new TroupeError<DelegationErrorCode>("invalid_input", problems.join("; ").slice(0, 1_000));
  }
  if (parsed.data.agent.includes("://")) {
    throw new TroupeError<DelegationErrorCode>(
      "invalid_input",
      "agent: must be one of the listed keys; URLs are not accepted",
    );
  }
  return parsed.data;
}

/** The request as the text that the remote gets. */
export function requestText({ objective, input }: DelegationRequest): string {
  const parts = [objective];
  if (input?.prompt) parts.push(input.prompt);
  if (input?.context) parts.push(`Context:\n${input.context}`);
  return parts.join("\n\n");
}
