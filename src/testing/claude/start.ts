import { fileURLToPath } from "node:url";

/** The command that stands for `claude`: a scripted peer that speaks its protocol and is a real MCP client. */
export function scriptedClaude(): readonly [string, ...string[]] {
  // Run from its source, this file still needs the compiled executable.
  const compiled = import.meta.url.endsWith(".ts")
    ? new URL("../../../dist/testing/claude/scripted-claude.js", import.meta.url)
    : new URL("./scripted-claude.js", import.meta.url);
  return [process.execPath, fileURLToPath(compiled)];
}
