import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../core/clock.js";
import { trackedGroups } from "../drivers/process/process-group.js";
import { ManualClock } from "../testing/manual-clock.js";
import { askVersion, findProgram } from "./program-version.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "troupe-version-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  expect(trackedGroups()).toEqual([]);
});

/** A program that does this. */
function program(name: string, script: string, mode = 0o755): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, mode);
  return file;
}

const ask = (file: string) => askVersion([file], { env: {}, cwd: folder, clock: systemClock });

describe("askVersion", () => {
  it.each([
    ["echo '2.1.332 (Claude Code)'", "2.1.332"],
    ["echo codex-cli 0.171.0-alpha.2", "0.171.0-alpha.2"],
    ["echo; echo 'Updating is possible'; echo 1.0", "1.0"],
    ["echo 2026.11.20-abc123", "2026.11.20-abc123"],
  ])("%s", async (script, version) => {
    expect(await ask(program("tool", script))).toEqual({ version });
  });

  it("what does not tell says why, cleanly and briefly", async () => {
    const problem = async (script: string) => {
      const told = await ask(program("tool", script));
      return "problem" in told ? told.problem : told.version;
    };
    expect(await problem("echo 'cannot load \\033[31mlibfoo' >&2; exit 3")).toBe(
      "`--version` did not work (exit code 3): cannot load  [31mlibfoo",
    );
    expect(await problem("echo hello")).toBe("`--version` did not work (exit code 0)");
    expect(await problem("kill -9 $$")).toBe("`--version` did not work (SIGKILL)");
    expect((await problem(`printf '%.0sx' $(seq 500) >&2; exit 1`)).length).toBeLessThan(120);
    expect(await ask(join(folder, "nowhere"))).toMatchObject({
      problem: expect.stringContaining("not found"),
    });
  });

  it("one that says nothing is ended after a while, with what it started", async () => {
    const clock = new ManualClock();
    const asking = askVersion([program("tool", "sleep 1000 & sleep 1000")], {
      env: process.env as never,
      cwd: folder,
      clock,
    });
    expect(trackedGroups()).toHaveLength(1);
    await clock.advance(10_000);
    await expect.poll(() => clock.advance(1_000).then(trackedGroups)).toEqual([]);
    expect(await asking).toEqual({ problem: "it did not tell its version within 10 s" });
  });
});

describe("findProgram", () => {
  it("is the first that may be executed, as a shell finds it; a path is taken as it is", () => {
    const file = program("tool", "exit 0");
    program("text", "exit 0", 0o644);
    const path = ["", "/nonexistent", folder].join(":");
    expect(findProgram("tool", path, "/")).toBe(file);
    expect(findProgram("text", path, "/")).toBeUndefined();
    expect(findProgram("other", path, "/")).toBeUndefined();
    expect(findProgram("./tool", "", folder)).toBe(file);
    expect(findProgram(file, "", "/")).toBe(file);
    expect(findProgram(folder, "", "/")).toBeUndefined();
  });
});
