/**
 * The test kit: scripted peers that are processes of their own, and a clock that is moved by hand.
 * @module
 */
export {
  type ScriptedAgent,
  type ScriptedAgentOptions,
  type SeenCall,
  startScriptedAgent,
} from "./a2a/start.js";
export type { AcpScript, AcpStep as AcpScriptStep } from "./acp/script.js";
export { scriptedAcp } from "./acp/start.js";
export type {
  Script as ClaudeScript,
  ScriptedTool,
  ScriptStep as ClaudeScriptStep,
} from "./claude/script.js";
export { scriptedClaude } from "./claude/start.js";
export type { CodexScript, CodexStep as CodexScriptStep } from "./codex/script.js";
export { scriptedCodex } from "./codex/start.js";
export type { CursorScript, CursorStep as CursorScriptStep } from "./cursor/script.js";
export { scriptedCursor } from "./cursor/start.js";
export { type DriverCheck, describeDriver, driverContract } from "./driver-conformance.js";
export type { DriverKit, DriverScenario, DriverStep, PlayedDriver } from "./driver-kit.js";
export { ManualClock } from "./manual-clock.js";
