import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Folder } from "./troupe.js";

/** What Claude Code says when it is asked for its version. */
export const CLAUDE_VERSION = "echo '2.1.332 (Claude Code)'";

/** Puts programs into a folder for a `PATH` that has nothing else. @returns the folder. */
export async function install(folder: Folder, programs: Readonly<Record<string, string>>): Promise<string> {
  const bin = join(folder.path, "bin");
  await mkdir(bin, { recursive: true });
  for (const [name, script] of Object.entries(programs))
    await chmod(await folder.write(`bin/${name}`, `#!/bin/sh\n${script}\n`), 0o755);
  return bin;
}
