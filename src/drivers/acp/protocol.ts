import type { AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

/**
 * The names of the protocol that the driver uses. The SDK's types are what they are checked against; none of its code is loaded, so
 * what agents send is read by the driver's own parsers, which take what is wrong for absent.
 */
export const AGENT = {
  initialize: "initialize",
  authenticate: "authenticate",
  session_new: "session/new",
  session_load: "session/load",
  session_resume: "session/resume",
  session_prompt: "session/prompt",
  session_cancel: "session/cancel",
  session_set_mode: "session/set_mode",
  session_set_config_option: "session/set_config_option",
} as const satisfies Partial<typeof AGENT_METHODS>;

export const CLIENT = {
  session_request_permission: "session/request_permission",
  session_update: "session/update",
} as const satisfies Partial<typeof CLIENT_METHODS>;

/** How agents before the options of a session let a model be chosen. */
export const SET_MODEL = "session/set_model";

/** The version that the driver speaks. */
export const VERSION_SPOKEN = 1 satisfies typeof PROTOCOL_VERSION;

/** Error number of a request that needs a login first. */
export const AUTH_REQUIRED = -32_000;

/** Error number of something that the agent does not have. */
export const RESOURCE_NOT_FOUND = -32_002;
