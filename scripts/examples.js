// Installs the examples that have packages of their own from their locks, builds their pages, and runs their tests: `npm run examples`.
// Runs no install scripts there. The real programs are those of `npm run e2e`. What is installed already stays, as long as its lock is the same. Arguments go to Vitest.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const EXAMPLES = join(ROOT, "examples");
const TIMEOUT_MS = 10 * 60_000;

step("troupe: build", ROOT, "npm", ["run", "--silent", "build:lib"]);
for (const name of readdirSync(EXAMPLES).filter((name) =>
  existsSync(join(EXAMPLES, name, "package-lock.json")),
)) {
  const folder = join(EXAMPLES, name);
  const lock = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
  const mark = join(folder, "node_modules", ".installed-lock");
  if (existsSync(mark) && readFileSync(mark, "utf8") === lock) console.log(`${name}: installed already`);
  else {
    const quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    step(`${name}: install`, folder, "npm", ["ci", ...quietly]);
    writeFileSync(mark, lock);
  }
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (scripts?.build !== undefined) step(`${name}: build`, folder, "npm", ["run", "--silent", "build"]);
}
if (!existsSync(join(ROOT, "e2e", "node_modules")))
  step("real programs: install", ROOT, "npm", [
    "ci",
    "--prefix",
    "e2e",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ]);
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/examples/vitest.config.ts"];
step("tests", ROOT, process.execPath, [...vitest, ...process.argv.slice(2)]);

/** Runs a program in a folder, and ends with it when it fails. */
function step(title, cwd, program, args) {
  console.log(`${title} …`);
  const started = Date.now();
  const { status } = spawnSync(program, args, { cwd, stdio: "inherit", timeout: TIMEOUT_MS });
  console.log(`${title} ${status === 0 ? "ok" : "FAILED"} (${Math.round((Date.now() - started) / 1000)} s)`);
  if (status !== 0) process.exit(1);
}
