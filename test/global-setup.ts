import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Tests start compiled executables and the built page: compile once, before the first test. */
export function setup(): void {
  execFileSync("npm", ["run", "--silent", "build:lib"], { stdio: "inherit" });
  if (!existsSync("dist/console/index.html"))
    execFileSync("npm", ["run", "--silent", "build:console"], { stdio: "inherit" });
}
