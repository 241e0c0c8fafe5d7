import { test } from "vitest";
import { cursor } from "../drivers/cursor/cursor.js";
import type { CursorScript, CursorStep } from "./cursor/script.js";
import { scriptedCursor, scriptedCursorEnvironment } from "./cursor/start.js";
import { describeDriver } from "./driver-conformance.js";
import type { DriverStep } from "./driver-kit.js";

const played = (script: CursorScript) => ({
  driver: cursor({ executable: scriptedCursor() }),
  env: scriptedCursorEnvironment({ script }),
});

function stepOf(step: DriverStep): CursorStep {
  return "ask" in step ? { shell: { ...step.ask, ask: true } } : step;
}

describeDriver(
  {
    name: "cursor",
    play: ({ steps, forgetful = false }) => played({ steps: steps.map(stepOf), forgetful }),
    missing: () => cursor({ executable: "/no/such/agent" }),
    tooOld: () => played({ steps: [], start: "unknown_option" }),
  },
  test,
);
