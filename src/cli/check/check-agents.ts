import { defined } from "../../core/defined.js";
import type { FoundProgram } from "../program-look.js";
import type { Finding } from "./finding.js";

/** Whether the programs of a config's agents are there, and new enough. */
export function checkAgents(agents: readonly FoundProgram[]): Finding[] {
  return agents.map(({ name, driver, version, path, problem, remedy }) => ({
    area: "agents",
    subject: name,
    state: problem === undefined ? "ok" : "problem",
    text: problem ?? [driver, version, path].filter((word) => word !== undefined).join("  "),
    ...defined({ remedy }),
  }));
}
