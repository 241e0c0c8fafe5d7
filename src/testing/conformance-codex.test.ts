import { test } from "vitest";
import { codex } from "../drivers/codex/codex.js";
import type { CodexScript, CodexStep } from "./codex/script.js";
import { scriptedCodex, scriptedCodexEnvironment } from "./codex/start.js";
import { describeDriver } from "./driver-conformance.js";
import type { DriverStep } from "./driver-kit.js";

const played = (script: CodexScript) => ({
  driver: codex({ executable: scriptedCodex() }),
  env: scriptedCodexEnvironment({ script }),
});

function stepOf(step: DriverStep): CodexStep {
  return "ask" in step ? { shell: { ...step.ask, ask: true } } : step;
}

describeDriver(
  {
    name: "codex",
    callIdKey: "callId",
    play: ({ steps, forgetful = false }) => played({ turns: [steps.map(stepOf)], forgetful }),
    missing: () => codex({ executable: "/no/such/codex" }),
    tooOld: () => played({ turns: [], version: "0.99.0" }),
  },
  test,
);
