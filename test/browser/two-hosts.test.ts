import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { start } from "../cli/troupe.js";
import { noRedis } from "../support/redis-server.js";
import { startBrowser } from "./browser.js";

const MAIN = fileURLToPath(new URL("../../examples/two-hosts/main.js", import.meta.url));

describe.skipIf(noRedis !== undefined)(`examples/two-hosts${noRedis ? ` (${noRedis})` : ""}`, () => {
  it("a page survives the kill of the host that works for it, and loses nothing", {
    timeout: 120_000,
  }, async () => {
    await using example = start(process.execPath, [MAIN, "--scripted"], {
      cwd: tmpdir(),
      env: { PORT: "0" },
    });
    try {
      await example.says("Console");
      const pids = [...example.stdout.matchAll(/kill -9 (\d+)/g)].map(([, pid]) => Number(pid));
      const [, url = ""] = /Console +(\S+)/.exec(example.stdout) ?? [];
      await using browser = await startBrowser();
      await using opened = await browser.open(url);
      // One every 40 ms.
      await opened.send("#chunks 150");
      await opened.card().getByText("piece 5").waitFor();
      // It is the one that has a program at work.
      const owner = pids.find((pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8") !== "");
      if (owner === undefined) throw new Error("No host works any more");
      process.kill(owner, "SIGKILL");
      await opened.runIs("host stopped");
      await opened.card().locator(".state", { hasText: "Done" }).waitFor();
      await expect.poll(async () => (await opened.card().textContent()) ?? "").toContain("piece 150");
      await example.says("another one is started");
    } finally {
      // Its Redis would outlive it otherwise.
      example.child.kill("SIGTERM");
      expect(await example.exit).toBe(0);
    }
  });
});
