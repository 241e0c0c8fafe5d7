import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { startRemote } from "./remote.js";
import { screenOf } from "./screen.js";
import { isGone, makeFolder, troupeInTerminal } from "./troupe.js";

/** `script` of util-linux gives a program a terminal. */
const hasTerminal = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux");
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";

describe.skipIf(!hasTerminal)("troupe run in a terminal", () => {
  it("leaves the tree on the screen, and gives the cursor back", async () => {
    await using remote = await startRemote({ paceMs: 30 });
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    await using command = troupeInTerminal(
      ["run", "#status Reading\n#say Found it.\n#delay 400\n#artifact notes.md 500"],
      { cwd: folder.path },
    );
    expect(await command.exit).toBe(0);
    const screen = screenOf(command.stdout).map((line) => line.replace(/\d+:\d\d/, "0:00"));
    expect(screen).toEqual([
      "I'll ask the research agent.",
      "▸ delegate_to_agent(research)",
      "  ✔ research Done 0:00",
      "    │ Found it.",
      "    ◆ notes.md 500 B",
      expect.stringMatching(/^ {4}you: \d+ B, 1 artifact · the model: \d+ B$/),
      "The research agent answered: Found it.",
      "",
      "✔ Done in 0:00 · 1 delegation · 1 artifact",
    ]);
    // It was drawn while it worked.
    expect(command.stdout).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏].* .*research/);
    expect(command.stdout.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(command.stdout.lastIndexOf(HIDE_CURSOR));
  });

  it("shows two delegations side by side, each under its own call", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    const call = (objective: string) => ({
      name: "delegate_to_agent",
      input: { agent: "research", objective },
    });
    const script = { turns: [[{ tools: [call("#delay 100\n#say first"), call("#say second")] }]] };
    await folder.configure({ cardUrl: remote.cardUrl, script });
    await using command = troupeInTerminal(["run", "go"], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    const screen = screenOf(command.stdout).filter((line) => /▸|✔ research|│/.test(line));
    expect(screen.map((line) => line.replace(/ \d+:\d\d/, ""))).toEqual([
      "▸ delegate_to_agent(research)",
      "  ✔ research Done",
      "    │ first",
      "▸ delegate_to_agent(research)",
      "  ✔ research Done",
      "    │ second",
    ]);
  });

  it("what a remote sends cannot move the cursor, clear the screen or set the title", async () => {
    await using remote = await startRemote({ paceMs: 30 });
    await using folder = await makeFolder();
    const evil = "\u001b[2J\u001b[10A\u001b]0;owned\u0007\u009b31m\u001bc";
    const input = {
      agent: "research",
      objective: `#status ${evil}\n#say ${evil}\n#artifact a${evil}.md 10\n#delay 200\n#fail ${evil}`,
    };
    const script = {
      turns: [
        [
          { say: `My words ${evil}` },
          { tools: [{ name: `Strange${evil}`, input: { command: evil }, result: "x" }] },
          { tools: [{ name: "delegate_to_agent", input }] },
        ],
      ],
    };
    await folder.configure({ cardUrl: remote.cardUrl, script });
    await using command = troupeInTerminal(["run", "go"], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    const screen = screenOf(command.stdout).join("\n");
    expect(screen).toContain("My words");
    expect(screen).toContain("✖ research Failed");
    expect(screen).toContain("owned");
  });

  it("asks for a permission and takes the answer from the keyboard", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    const step = (tool: string, input: unknown, result: string) => ({ permission: { tool, input, result } });
    const script = {
      turns: [
        [
          step("Bash", { command: "ls\u001b[2J" }, "files"),
          step("Write", { file_path: "notes.md" }, "written"),
          { say: "First {{result.0}}, then {{result.1}}" },
        ],
      ],
    };
    await folder.configure({ cardUrl: remote.cardUrl, script });
    await using command = troupeInTerminal(["run", "go"], { cwd: folder.path });
    await command.says("Use Bash");
    command.child.stdin?.write("y");
    await command.says("Use Write");
    expect(screenOf(command.stdout).join("\n")).toContain("[y] allow  [n] deny");
    command.child.stdin?.write("n");
    expect(await command.exit).toBe(0);
    expect(screenOf(command.stdout).join("\n")).toMatch(/First files, then The (?:person|user)/);
  });

  it("Ctrl-C cancels the run and the remote task, says so, and gives the terminal back", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    await using command = troupeInTerminal(["run", "#say Busy.\n#hang"], { cwd: folder.path });
    await command.says("Working without end");
    command.child.stdin?.write("\u0003");
    expect(await command.exit).toBe(130);
    expect(command.stdout).toContain("Cancelling the run and its remote tasks");
    const screen = screenOf(command.stdout).join("\n");
    expect(screen).toContain("  ■ research Stopped");
    expect(screen).toMatch(/■ Stopped in \d+:\d\d · 1 delegation · 1 remote task cancelled/);
    expect(command.stdout.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(command.stdout.lastIndexOf(HIDE_CURSOR));
    expect(await remote.cancels()).toHaveLength(1);
    expect(await isGone(folder.claudePid())).toBe(true);
  });
});
