/**
 * Agents of a host as sub-agents of its other agents.
 * @module
 */
export { type LocalOptions, local } from "./remotes/local/local.js";
export type { LocalHost, LocalRemote, LocalRun, LocalRunRequest } from "./remotes/local/local-host.js";
