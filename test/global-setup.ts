import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Tests start compiled executables and the built page: compile once, before the first test. */
export function setup(): void {
  // A type error elsewhere does not keep a test from running: the compiler writes its output all the same.
  build("build:lib", process.env.CI === undefined);
  if (pageIsStale()) build("build:console", false);
}

function build(script: string, tolerant: boolean): void {
  try {
    execFileSync("npm", ["run", "--silent", script], { stdio: "inherit" });
  } catch (error) {
    if (!tolerant) throw error;
  }
}

function pageIsStale(): boolean {
  const page = "dist/console/index.html";
  if (!existsSync(page)) return true;
  const built = statSync(page).mtimeMs;
  return ["console/src", "src/client", "src/wire"].some((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).some(
      (file) => statSync(join(folder, file)).mtimeMs > built,
    ),
  );
}
