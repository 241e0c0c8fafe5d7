import type { RemoteDirectory } from "../../delegation/directory.js";
import type { RemoteSkill } from "../../delegation/remote.js";
import type { McpTool } from "./tool.js";
import { toolNames } from "./tool-names.js";

/** A tool that calls one skill of one agent. */
export interface SkillTool {
  readonly tool: McpTool;
  readonly agent: string;
  readonly skill: RemoteSkill;
  /** The skill brought its own input schema. */
  readonly ownSchema: boolean;
}

/** Characters of a remote's own words in a tool's description. */
const MAX_DESCRIPTION = 1_000;

/** What a task in words looks like. */
export const TASK_SCHEMA = {
  type: "object",
  properties: {
    message: { type: "string", minLength: 1, description: "What the agent shall do, complete in itself." },
    context: { type: "string", description: "Background that the agent cannot know." },
  },
  required: ["message"],
  additionalProperties: false,
};

/** One tool `{name}__{skillId}` for each skill that the directory knows of. A skill's own input schema is passed on unchanged. */
export function skillTools(directory: RemoteDirectory): SkillTool[] {
  const skills = directory
    .states()
    .flatMap(({ key, description }) => (description?.skills ?? []).map((skill) => ({ key, skill })));
  const names = toolNames(skills.map(({ key, skill }) => `${key}__${skill.id}`));
  return skills.map(({ key, skill }, index) => ({
    agent: key,
    skill,
    ownSchema: isObjectSchema(skill.inputSchema),
    tool: {
      name: names[index] ?? `${key}__${skill.id}`,
      title: skill.name,
      description: (skill.description || skill.name).replace(/\s+/g, " ").slice(0, MAX_DESCRIPTION),
      inputSchema: isObjectSchema(skill.inputSchema) ? skill.inputSchema : TASK_SCHEMA,
      annotations: {
        readOnlyHint: directory.get(key)?.policy.parallel ?? true,
        destructiveHint: false,
        openWorldHint: true,
      },
    },
  }));
}

/** Whether clients accept a schema for a tool's arguments, which are always an object. */
function isObjectSchema(schema: unknown): schema is Record<string, unknown> {
  return typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object";
}
