import type { RemoteDirectory, RemoteState } from "../../delegation/directory.js";
import { requestJsonSchema } from "../../delegation/request.js";
import type { McpTool } from "./tool.js";

/** Name of the generic delegation tool. */
export const DELEGATE_TOOL = "delegate_to_agent";

/** Characters of a remote's own words in the tool's description. */
const MAX_AGENT_TEXT = 600;

const outputSchema = {
  type: "object",
  properties: {
    delegation_id: { type: "string" },
    agent: { type: "string" },
    status: { type: "string", enum: ["working", "needs_input", "completed", "failed", "cancelled"] },
    summary: { type: "string" },
    error: { type: "object" },
    input_request: { type: "object" },
    remote_protocol: { type: "string" },
    remote_task_id: { type: ["string", "null"] },
    remote_context_id: { type: ["string", "null"] },
    artifacts: { type: "array", items: { type: "object" } },
    messages: { type: "array", items: { type: "object" } },
    raw_task: { type: "object" },
    truncated: { type: "boolean" },
  },
  required: ["status"],
};

/** Builds the tool for the agents of `directory`; the same objects as long as nothing changed, so that schemas stay cached. */
export function createDelegateTool(directory: RemoteDirectory): () => McpTool {
  const inputSchema = requestJsonSchema(directory.keys());
  const parallel = directory.keys().every((key) => directory.get(key)?.policy.parallel);
  return () => ({
    name: DELEGATE_TOOL,
    title: "Delegate to a remote agent",
    description: [
      "Gives a bounded task to another agent and waits for its result. The user watches that agent work live; you get a short",
      "structured result. The agent sees neither this conversation nor your files: put all it needs into the call. Independent",
      "delegations can be started in one message; they run side by side. Agents:",
      ...directory.states().map(describeAgent),
    ].join("\n"),
    inputSchema,
    outputSchema,
    // Claude Code and Codex run calls in parallel only with this hint. The tool changes nothing in the parent's workspace.
    annotations: { readOnlyHint: parallel, destructiveHint: false, openWorldHint: true },
  });
}

function describeAgent({ key, description, status }: RemoteState): string {
  if (description === undefined)
    return `- ${key}${status === "unreachable" ? " (not reachable at the moment)" : ""}`;
  const skills = description.skills
    .map(({ name, description: what }) => (what ? `${name}: ${what}` : name))
    .join("; ");
  const text = [description.description, skills && `Skills: ${skills}`].filter(Boolean).join(" ");
  const clean = text.replace(/\s+/g, " ").trim();
  return `- ${key}: ${clean.length > MAX_AGENT_TEXT ? `${clean.slice(0, MAX_AGENT_TEXT)}…` : clean}`;
}
