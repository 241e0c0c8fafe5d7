import { asText, type JsonObject } from "../process/json.js";

/** The version that the driver was measured against, and whose schema (`codex app-server generate-ts`) its fields are from. */
export const MEASURED_VERSION = "0.171.0";

/** The oldest version that was tried; older ones are refused. */
export const LEAST_VERSION = "0.163.0";

/** How the driver introduces itself. The program's answer names its own version in an agent string that begins with this name. */
export const CLIENT_NAME = "troupe";

/** Notifications that the driver has no use for; the program leaves them out. */
export const UNWANTED_NOTIFICATIONS = [
  "account/rateLimits/updated",
  "remoteControl/status/changed",
  "thread/readState/changed",
  "thread/started",
  "thread/status/changed",
  "turn/diff/updated",
] as const;

/** The version in the answer to `initialize`, such as `troupe/0.171.0 (Debian 12; x86_64) …`; `undefined` when it names none. */
export function versionOf(initialized: JsonObject): string | undefined {
  return /^[^/]*\/(\d+\.\d+\.\d+)/.exec(asText(initialized.userAgent) ?? "")?.[1];
}

/** Whether `version` is older than `least`, both as `1.2.3`. */
export function isOlder(version: string, least: string): boolean {
  const [one, other] = [version, least].map((text) => text.split(".").map(Number));
  for (let place = 0; place < 3; place++) {
    const difference = (one?.[place] ?? 0) - (other?.[place] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
