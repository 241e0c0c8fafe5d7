// Packs the package as it would be published, and checks it: publint, types of every entry, and that it runs where only it is installed.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const scratch = mkdtempSync(join(tmpdir(), "troupe-package-"));
const run = (command, args, options = {}) => execFileSync(command, args, { stdio: "inherit", ...options });

try {
  run("npm", ["run", "--silent", "build"]);
  run("npx", ["publint", "--strict"]);
  const [{ filename }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", scratch], {
      encoding: "utf8",
    }),
  );
  const tarball = join(scratch, filename);
  // ESM only: require() of it is not offered, so its resolution is not judged.
  run("npx", ["attw", tarball, "--profile", "esm-only"]);
  writeFileSync(join(scratch, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run("npm", ["install", "--loglevel=error", "--prefix", scratch, resolve(tarball)], { cwd: scratch });
  const { status, stdout } = spawnSync(
    join(scratch, "node_modules/.bin/troupe"),
    ["run", "--json", "#say packed"],
    { cwd: scratch, encoding: "utf8" },
  );
  if (status !== 0 || !stdout.includes('"subagent.finished"'))
    throw new Error(`The installed command failed (${status}):\n${stdout}`);
  console.log("The packed package works.");
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
