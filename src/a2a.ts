/**
 * Remote agents that speak A2A.
 * @module
 */
export { a2a } from "./remotes/a2a/a2a.js";
export type {
  A2aAuth,
  A2aLimits,
  A2aOptions,
  CredentialContext,
  SignatureKey,
  SignaturePolicy,
} from "./remotes/a2a/options.js";
