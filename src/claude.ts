/**
 * Claude Code as a local agent.
 * @module
 */
export { claude } from "./drivers/claude/claude.js";
export type { ClaudeOptions } from "./drivers/claude/options.js";
