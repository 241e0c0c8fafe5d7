/**
 * Agents that speak the Agent Client Protocol as local agents: any of them, and some by name.
 * @module
 */
export { acp } from "./drivers/acp/acp.js";
export type { AcpOptions } from "./drivers/acp/options.js";
export {
  type AcpPresetOptions,
  codexAcp,
  cursorAcp,
  type GeminiOptions,
  gemini,
  openCode,
} from "./drivers/acp/presets.js";
