/** What programs commonly need and what holds no secret of the host. */
const COMMON = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_*",
  "TERM",
  "TMPDIR",
  "TZ",
  "XDG_*",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

/**
 * The environment of an agent's program: the common variables, those its driver names, then `extra`. The host's own secrets
 * (credentials of remote agents above all) stay out, because the program's shell tool can read whatever it inherits.
 */
export function programEnvironment(
  host: Readonly<Record<string, string | undefined>>,
  patterns: readonly string[],
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  const allowed = [...COMMON, ...patterns];
  const matches = (name: string) =>
    allowed.some((pattern) =>
      pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
    );
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(host)) {
    if (value !== undefined && matches(name)) environment[name] = value;
  }
  return { ...environment, ...extra };
}
