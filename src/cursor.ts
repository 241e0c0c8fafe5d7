/**
 * Cursor's command line agent as a local agent.
 * @module
 */
export { cursorAcp } from "./drivers/acp/presets.js";
export { cursor } from "./drivers/cursor/cursor.js";
export type { CursorOptions } from "./drivers/cursor/options.js";
