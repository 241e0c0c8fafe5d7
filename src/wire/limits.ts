const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** Bytes of one server-sent event. */
export const MAX_EVENT_BYTES = 4 * MEBIBYTE;
/** Bytes of one response body, a whole stream included. */
export const MAX_RESPONSE_BYTES = 64 * MEBIBYTE;
/** Bytes of an agent card. */
export const MAX_CARD_BYTES = 512 * KIBIBYTE;
/** Levels of nesting in JSON from outside. */
export const MAX_JSON_DEPTH = 64;
/** Milliseconds until a TCP and TLS connection must stand. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** Milliseconds between two heartbeats of a stream that is silent. */
export const HEARTBEAT_MS = 15_000;
/** Bytes of a padded heartbeat, above the buffer of proxies that flush late. */
export const PADDED_HEARTBEAT_BYTES = 2 * KIBIBYTE;
