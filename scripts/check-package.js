// Packs the package as it would be published, and checks it: publint, types of every entry, and that it and its
// demo run where only it is installed.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const scratch = mkdtempSync(join(tmpdir(), "troupe-package-"));

/** Starts the demo as a newcomer does, and asks it for its page and for a run whose call a sub-agent answers. */
async function checkDemo() {
  const demo = spawn(join(scratch, "node_modules/.bin/troupe"), ["demo", "--port", "0", "--json"], {
    cwd: scratch,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(demo, "exit");
  try {
    const [line] = await once(demo.stdout, "data", { signal: AbortSignal.timeout(60_000) });
    const { url } = JSON.parse(String(line));
    const page = await (await fetch(url)).text();
    const [, source = ""] = /<script[^>]+src="([^"]+)"/.exec(page) ?? [];
    const script = await fetch(new URL(source, `${url}/`));
    if (source === "" || !script.ok) throw new Error(`The demo's page cannot be used:\n${page}`);
    const response = await fetch(`${url}/agents/claude/run`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        threadId: "packed",
        runId: "packed",
        messages: [{ id: "1", role: "user", content: "#say packed" }],
        state: {},
        tools: [],
        context: [],
        forwardedProps: {},
      }),
    });
    const frames = await response.text();
    if (!frames.includes('"subagent.finished"')) throw new Error(`The demo's run failed:\n${frames}`);
  } finally {
    demo.kill();
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`The demo ended with ${status}`);
}

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
  await checkDemo();
  console.log("The packed package works.");
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
