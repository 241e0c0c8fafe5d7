import type { RemoteDirectory } from "../../delegation/directory.js";
import { TASK_SCHEMA } from "./skill-tools.js";
import type { McpTool } from "./tool.js";
import { toolNames } from "./tool-names.js";

/** A tool that calls one agent, and nothing else. */
export interface ShortcutTool {
  readonly tool: McpTool;
  readonly agent: string;
}

const MAX_DESCRIPTION = 1_000;

/** One tool `delegate_to_<key>_agent` for each of `keys`. */
export function shortcutTools(directory: RemoteDirectory, keys: readonly string[]): ShortcutTool[] {
  const mine = keys.filter((key) => directory.get(key) !== undefined);
  const names = toolNames(mine.map((key) => `delegate_to_${key}_agent`));
  return mine.map((agent, index) => {
    const description = directory.state(agent)?.description?.description ?? "";
    const tool: McpTool = {
      name: names[index] ?? `delegate_to_${agent}_agent`,
      title: `Delegate to ${agent}`,
      description: `Gives a bounded task to the agent "${agent}" and waits for its result. ${description}`
        .replace(/\s+/g, " ")
        .trim()
        .slice(0, MAX_DESCRIPTION),
      inputSchema: TASK_SCHEMA,
      annotations: {
        readOnlyHint: directory.get(agent)?.policy.parallel ?? true,
        destructiveHint: false,
        openWorldHint: true,
      },
    };
    return { agent, tool };
  });
}
