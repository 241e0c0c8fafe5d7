/**
 * Remote agents that speak AG-UI.
 * @module
 */

export { agui } from "./remotes/agui/agui.js";
export type { AguiLimits, AguiOptions } from "./remotes/agui/options.js";
export type { RemoteAuth } from "./remotes/http/auth.js";
