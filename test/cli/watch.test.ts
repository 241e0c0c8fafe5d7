import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectBridge, hostOf, makeWorkspace, REMOTE_TOKEN, serveWorkspace, threadsOf } from "./bridge.js";
import { type Remote, startRemote } from "./remote.js";
import { screenOf } from "./screen.js";
import { type Folder, makeFolder, troupe, troupeInTerminal } from "./troupe.js";

const hasTerminal = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux");

let remote: Remote;
beforeAll(async () => {
  remote = await startRemote({ token: REMOTE_TOKEN });
});
afterAll(() => remote.close());

const workspace = () => makeWorkspace(remote, { toolset: "generic" });

/** One bridge that delegates, and is gone again. */
async function delegate(folder: Folder, objective: string): Promise<string> {
  await using bridge = await connectBridge(folder);
  const { watch_url } = await bridge.call("delegate_to_agent", { agent: "research", objective });
  await bridge.client.close();
  return String(watch_url).split("#thread=")[1] ?? "";
}

// Each starts several processes one after the other.
describe("troupe watch", { timeout: 120_000 }, () => {
  it("shows what goes on as lines, of all threads, and survives a restart of the host", async () => {
    await using folder = await workspace();
    await using watch = troupe(["watch"], { cwd: folder.path });
    await watch.says("No host serves this workspace");
    const first = await serveWorkspace(folder);
    await watch.says("Nothing goes on");
    await Promise.all(["Alpha", "Beta"].map((word) => delegate(folder, `#delay 900\n#say ${word}.`)));
    await watch.says("research │ Alpha.");
    await watch.says("research │ Beta.");
    first.child.kill("SIGTERM");
    await first.exit;
    await watch.says("Waiting for one");
    await using _ = await serveWorkspace(folder);
    const id = await delegate(folder, "#delay 900\n#say Gamma.");
    await watch.says("research │ Gamma.");
    expect(watch.stdout).toContain(`(${id})`);
    expect(watch.stdout).toMatch(/▸ delegate_to_agent\(.*\n {2}research: starting/);
    watch.child.kill("SIGINT");
    expect(await watch.exit).toBe(0);
    // Each thing once, however often the connection was made.
    for (const word of ["Alpha.", "Beta.", "Gamma."])
      expect(watch.stdout.split(`research │ ${word}`)).toHaveLength(2);
  });

  it("--thread shows one that is over, --json its events, --url any host", async () => {
    await using folder = await workspace();
    await using _ = await serveWorkspace(folder);
    const [one, other] = [await delegate(folder, "#say One."), await delegate(folder, "#say Other.")];
    await expect
      .poll(async () => (await threadsOf(folder)).map(({ run }) => run.status))
      .toEqual(["finished", "finished"]);
    await using elsewhere = await makeFolder();
    const { url } = hostOf(folder);
    await using json = troupe(["watch", "--json", "--url", url, "--thread", one], { cwd: elsewhere.path });
    await json.says('"RUN_FINISHED"');
    json.child.kill("SIGTERM");
    expect(await json.exit).toBe(0);
    expect(json.lines.every(({ threadId }) => threadId === one)).toBe(true);
    expect(json.stdout).toContain("One.");
    await using lines = troupe(["watch", "--thread", other], { cwd: folder.path });
    await lines.says("research │ Other.");
    await lines.says("✔ Done in");
    expect(lines.stdout).not.toContain("One.");
  });

  it("an address that is none is said; who reads it may leave", async () => {
    await using folder = await makeFolder();
    await using wrong = troupe(["watch", "--url", "example"], { cwd: folder.path });
    expect(await wrong.exit).toBe(2);
    expect(wrong.stderr).toContain("--url");
    await using waiting = troupe(["watch"], { cwd: folder.path });
    await waiting.says("No host serves");
    waiting.child.kill("SIGHUP");
    expect(await waiting.exit).toBe(0);
  });

  it.skipIf(!hasTerminal)("redraws the tree in a terminal, and leaves what is over", async () => {
    await using folder = await workspace();
    await using _ = await serveWorkspace(folder);
    await using watch = troupeInTerminal(["watch"], { cwd: folder.path });
    await watch.says("Nothing goes on");
    const id = await delegate(folder, "#status Reading\n#delay 1500\n#say Found it.");
    await watch.says("Done in");
    watch.child.stdin?.write("\u0003");
    expect(await watch.exit).toBe(0);
    const screen = screenOf(watch.stdout.replace("^C", "")).map((line) =>
      line.replace(/ \d+:\d\d/g, " 0:00"),
    );
    expect(screen.slice(0, 7)).toEqual([
      `# An MCP client is connected. (${id})`,
      "▸ delegate_to_agent(research)",
      "  ✔ research Done 0:00",
      "    │ Found it.",
      expect.stringMatching(/^ {4}you: \d+ B · the model: \d+ B$/),
      "",
      "✔ Done in 0:00 · 1 delegation",
    ]);
    expect(watch.stdout).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏].* .*research/);
    expect(watch.stdout.lastIndexOf("\u001b[?25h")).toBeGreaterThan(watch.stdout.lastIndexOf("\u001b[?25l"));
  });
});
