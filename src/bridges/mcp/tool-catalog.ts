import type { RemoteDirectory } from "../../delegation/directory.js";
import { createDelegateTool } from "./delegate-tool.js";
import { handleTools } from "./handle-tools.js";
import { type ShortcutTool, shortcutTools } from "./shortcut-tools.js";
import { type SkillTool, skillTools } from "./skill-tools.js";
import type { McpTool } from "./tool.js";

/** Which tools a model gets: `delegate_to_agent`, one for each skill of each agent, or both. */
export type Toolset = "generic" | "skills" | "both";

/** What a {@link ToolCatalog} offers. */
export interface CatalogOptions {
  readonly toolset: Toolset;
  /** Keys of agents that get a `delegate_to_<key>_agent` of their own. */
  readonly shortcuts: readonly string[];
}

interface Built {
  readonly version: number;
  readonly tools: readonly McpTool[];
  readonly skills: ReadonlyMap<string, SkillTool>;
  readonly shortcuts: ReadonlyMap<string, ShortcutTool>;
}

/** The tools that all runs of a host get. Built anew only when something is learned of a remote: requests ask for them all the time. */
export class ToolCatalog {
  readonly #generic: () => McpTool;
  #built: Built | undefined;

  constructor(
    private readonly directory: RemoteDirectory,
    private readonly options: CatalogOptions,
  ) {
    this.#generic = createDelegateTool(directory);
  }

  tools(): readonly McpTool[] {
    return this.#current().tools;
  }

  skill(tool: string): SkillTool | undefined {
    return this.#current().skills.get(tool);
  }

  shortcut(tool: string): ShortcutTool | undefined {
    return this.#current().shortcuts.get(tool);
  }

  #current(): Built {
    const { version } = this.directory;
    if (this.#built?.version === version) return this.#built;
    const { toolset, shortcuts } = this.options;
    const bySkill = toolset === "generic" ? [] : skillTools(this.directory);
    const byShortcut = shortcutTools(this.directory, shortcuts);
    const generic = toolset === "skills" ? [] : [this.#generic()];
    const tools = [...generic, ...byShortcut, ...bySkill].map((entry) =>
      "tool" in entry ? entry.tool : entry,
    );
    this.#built = {
      version,
      tools: [...tools, ...handleTools()],
      skills: new Map(bySkill.map((entry) => [entry.tool.name, entry])),
      shortcuts: new Map(byShortcut.map((entry) => [entry.tool.name, entry])),
    };
    return this.#built;
  }
}
