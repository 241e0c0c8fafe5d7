/** What the scripted program understands of its command line. */
export interface CommandLine {
  readonly resume?: string;
  readonly sessionId?: string;
  readonly fork: boolean;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  readonly model: string;
}

/** Options by how many values they take. */
const FLAGS: Readonly<Record<string, "none" | "one" | "many">> = {
  "-p": "none",
  "--print": "none",
  "--verbose": "none",
  "--include-partial-messages": "none",
  "--strict-mcp-config": "none",
  "--await-initialize": "none",
  "--no-session-persistence": "none",
  "--fork-session": "none",
  "--forward-subagent-text": "none",
  "--input-format": "one",
  "--output-format": "one",
  "--permission-prompt-tool": "one",
  "--permission-mode": "one",
  "--setting-sources": "one",
  "--model": "one",
  "--fallback-model": "one",
  "--max-turns": "one",
  "--append-system-prompt": "one",
  "--system-prompt": "one",
  "--session-id": "one",
  "--resume": "one",
  "--effort": "one",
  "--allowedTools": "many",
  "--disallowedTools": "many",
  "--add-dir": "many",
};

/**
 * Parses the arguments behind the program's name.
 * @throws Error with the program's own words for what it does not know.
 */
export function parseCommandLine(args: readonly string[], unknown: readonly string[] = []): CommandLine {
  const values = new Map<string, string[]>();
  for (let at = 0; at < args.length; at++) {
    const flag = args[at] ?? "";
    const arity = unknown.includes(flag) ? undefined : FLAGS[flag];
    if (arity === undefined) throw new Error(`error: unknown option '${flag}'`);
    const list = values.get(flag) ?? [];
    values.set(flag, list);
    if (arity === "one") list.push(args[++at] ?? "");
    while (arity === "many" && at + 1 < args.length && !args[at + 1]?.startsWith("--"))
      list.push(args[++at] ?? "");
  }
  const one = (flag: string) => values.get(flag)?.at(-1);
  if (one("--output-format") === "stream-json" && !values.has("--verbose")) {
    throw new Error("Error: When using --print, --output-format=stream-json requires --verbose");
  }
  const resume = one("--resume");
  const sessionId = one("--session-id");
  return {
    ...(resume === undefined ? {} : { resume }),
    ...(sessionId === undefined ? {} : { sessionId }),
    fork: values.has("--fork-session"),
    allowedTools: values.get("--allowedTools") ?? [],
    disallowedTools: values.get("--disallowedTools") ?? [],
    model: one("--model") ?? "scripted",
  };
}
