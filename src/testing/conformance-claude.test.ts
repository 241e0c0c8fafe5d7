import { test } from "vitest";
import { claude } from "../drivers/claude/claude.js";
import type { Script, ScriptStep } from "./claude/script.js";
import { scriptedClaude, scriptedClaudeEnvironment } from "./claude/start.js";
import { describeDriver } from "./driver-conformance.js";
import type { DriverStep } from "./driver-kit.js";

const played = (script: Script) => ({
  driver: claude({ executable: scriptedClaude() }),
  env: scriptedClaudeEnvironment({ script }),
});

function stepOf(step: DriverStep): ScriptStep {
  if (!("ask" in step)) return step;
  return {
    permission: { tool: "Bash", input: { command: step.ask.command }, result: step.ask.output },
  };
}

describeDriver(
  {
    name: "claude",
    callIdKey: "claudecode/toolUseId",
    play: ({ steps, forgetful = false }) => played({ turns: [steps.map(stepOf)], forgetful }),
    missing: () => claude({ executable: "/no/such/claude" }),
    tooOld: () => played({ turns: [], start: "unknown_option" }),
  },
  test,
);
