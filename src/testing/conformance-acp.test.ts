import { describe, test } from "vitest";
import { acp } from "../drivers/acp/acp.js";
import type { AcpScript, AcpStep } from "./acp/script.js";
import { scriptedAcp, scriptedAcpEnvironment } from "./acp/start.js";
import { describeDriver } from "./driver-conformance.js";
import type { DriverKit, DriverStep } from "./driver-kit.js";

const [command, ...args] = scriptedAcp();
const SCRIPTED = { command, args };

function kit(ways: Partial<AcpScript>): DriverKit {
  return {
    name: "acp",
    play: ({ steps, forgetful = false }) => ({
      driver: acp(SCRIPTED),
      env: scriptedAcpEnvironment({ script: { ...ways, turns: [steps.map(stepOf)], forgetful } }),
    }),
    missing: () => acp({ command: "/no/such/agent" }),
    tooOld: () => ({
      driver: acp(SCRIPTED),
      env: scriptedAcpEnvironment({ script: { turns: [], start: "unknown_option" } }),
    }),
  };
}

function stepOf(step: DriverStep): AcpStep {
  return "ask" in step ? { shell: { ...step.ask, ask: true } } : step;
}

describe("an agent that says what it calls, with MCP over HTTP", () => {
  describeDriver(kit({}), test);
});

describe("an agent that shows calls as Gemini CLI does, and resumes without repeating", () => {
  describeDriver(kit({ agent: "gemini-cli", sessions: "resume" }), test, /tool|call|thread|asked/);
});

describe("an agent that cannot do MCP over HTTP: by the bridge", () => {
  describeDriver(kit({ agent: "codex-acp", mcpHttp: false }), test, /tool|call|credential/);
});
