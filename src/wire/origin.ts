/** Hosts that mean this machine; with one port they are one origin. */
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * The origin of an absolute http or https URL, in a form that can be compared: the three names of the loopback interface count as
 * one.
 * @returns `undefined` when `url` is no such URL, or carries a user name or password.
 */
export function comparableOrigin(url: string | URL): string | undefined {
  if (!URL.canParse(String(url))) return undefined;
  const parsed = new URL(url);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return undefined;
  if (parsed.username !== "" || parsed.password !== "") return undefined;
  if (!LOOPBACK.has(parsed.hostname)) return parsed.origin;
  return `${parsed.protocol}//localhost${parsed.port ? `:${parsed.port}` : ""}`;
}

/** `url` without user, query and fragment, where credentials hide; for messages. At most 200 characters. */
export function printableUrl(url: string | URL): string {
  if (!URL.canParse(String(url))) return "(not a URL)";
  const parsed = new URL(url);
  const text = `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
