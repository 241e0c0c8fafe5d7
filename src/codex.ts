/**
 * Codex as a local agent.
 * @module
 */
export { codex } from "./drivers/codex/codex.js";
export type { CodexOptions } from "./drivers/codex/options.js";
