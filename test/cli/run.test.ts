import { describe, expect, it } from "vitest";
import { startRemote } from "./remote.js";
import { isAlive, isGone, makeFolder, troupe } from "./troupe.js";

describe("troupe run", () => {
  it("without a config uses the demo's agents, and says so", async () => {
    await using folder = await makeFolder();
    await using command = troupe(["run", "#say", "Found", "it."], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    expect(command.stderr).toBe("No troupe.config.json here: using the scripted demo agents.\n");
    expect(command.stdout).toContain("The research agent answered: Found it.");
  });

  it("without a terminal prints lines that are only ever added", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    const prompt = "#status Reading sources\n#say Found it.\n#artifact notes.md 500";
    await using command = troupe(["run", prompt], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    expect(command.stderr).toBe("");
    const lines = command.stdout.split("\n").map((line) => line.replace(/\d+:\d\d/, "0:00"));
    expect(lines).toEqual([
      "I'll ask the research agent.",
      `▸ delegate_to_agent(${prompt.replaceAll("\n", " ")})`,
      "  research: starting",
      "  research: submitted",
      "  research: working - Reading sources",
      "    research ◆ notes.md (500 B)",
      "  research: completed - Done.",
      "    research │ Found it.",
      "  ✔ research: Done in 0:00",
      expect.stringMatching(/^ {4}you: \d+ B, 1 artifact · the model: \d+ B$/),
      "The research agent answered: Found it.",
      "",
      "✔ Done in 0:00 · 1 delegation · 1 artifact",
      "",
    ]);
  });

  it("what a remote or the prompt smuggles in never reaches the terminal as a control character", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    const evil = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u202ex";
    const prompt = `#status ${evil}\n#say ${evil}\n#artifact a${evil}.md 10\n#fail ${evil}`;
    await using command = troupe(["run", prompt], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    expect(command.stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(command.stdout).toContain("owned");
    expect(command.stdout).toContain("✖ research: Failed");
  });

  it("--json prints one entry of the journal a line, the last one is the run's end", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    await using command = troupe(["run", "--json", "#say Found it."], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    expect(command.stderr).toBe("");
    const types = command.lines.map(({ event }) => (event as { type: string }).type);
    expect(types[0]).toBe("run.started");
    expect(types.at(-1)).toBe("run.finished");
    expect(types.filter((type) => /^subagent\.(started|finished)$/.test(type))).toEqual([
      "subagent.started",
      "subagent.finished",
    ]);
    for (const line of command.lines)
      expect(line).toEqual({
        cursor: expect.any(String),
        runId: command.lines[0]?.runId,
        time: expect.any(Number),
        event: expect.any(Object),
      });
    const cursors = command.lines.map(({ cursor }) => Number(cursor));
    expect(cursors).toEqual([...new Set(cursors)].sort((a, b) => a - b));
  });

  it.each([{ args: [] }, { args: ["--json"] }])("a run that fails exits with 1 $args", async ({ args }) => {
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: "http://127.0.0.1:1/", agent: { executable: "/nowhere/claude" } });
    await using command = troupe(["run", ...args, "hi"], { cwd: folder.path });
    expect(await command.exit).toBe(1);
    // The remote that is not there is no reason to stop, but worth a word.
    expect(command.stderr).toContain('remote agent "research" cannot be reached');
    if (args.length === 0) expect(command.stdout).toMatch(/✖ Failed.*\n.*\/nowhere\/claude was not found/);
    else
      expect(command.lines.at(-1)).toMatchObject({
        event: { type: "run.failed", error: { code: "program_missing" } },
      });
  });

  it("nobody can allow anything without a terminal, so it is denied, and the run goes on", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    const script = {
      turns: [[{ permission: { tool: "Bash", input: { command: "ls" } } }, { say: "Then not." }]],
    };
    await folder.configure({ cardUrl: remote.cardUrl, script });
    await using command = troupe(["run", "hi"], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    expect(command.stdout).toMatch(/^\? Use Bash.*: denied, because nobody can answer here/m);
    expect(command.stdout).toContain("Then not.");
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "cases 024, 028: %s in mid-delegation cancels the run and the remote task, and says so",
    async (signal) => {
      await using remote = await startRemote();
      await using folder = await makeFolder();
      await folder.configure({ cardUrl: remote.cardUrl });
      await using command = troupe(["run", "#say Busy.\n#hang"], { cwd: folder.path });
      await command.says("Working without end");
      const program = folder.claudePid();
      expect(isAlive(program)).toBe(true);
      command.child.kill(signal);
      expect(await command.exit).toBe(130);
      expect(command.stderr).toContain("Cancelling the run and its remote tasks");
      expect(command.stdout).toContain("  ■ research: Stopped in");
      expect(command.stdout).toMatch(/■ Stopped in \d+:\d\d · 1 delegation · 1 remote task cancelled\n$/);
      expect(await remote.cancels()).toMatchObject([
        { params: { metadata: { delegationId: expect.any(String) } } },
      ]);
      expect(await isGone(program)).toBe(true);
    },
  );

  it("--json tells a cancel in the journal, and the person on standard error", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    await using command = troupe(["run", "--json", "#say Busy.\n#hang"], { cwd: folder.path });
    await command.says('"subagent.text.delta"');
    command.child.kill("SIGINT");
    expect(await command.exit).toBe(130);
    const types = command.lines.map(({ event }) => (event as { type: string }).type);
    expect(types.filter((type) => /cancelled$/.test(type))).toEqual(["subagent.cancelled", "run.cancelled"]);
    expect(types.at(-1)).toBe("run.cancelled");
    expect(command.stderr).toContain("Cancelling");
  });

  it("a remote that does not confirm the cancel is named, and a second Ctrl-C quits at once", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    await using command = troupe(["run", "#say Busy.\n#stubborn"], { cwd: folder.path });
    await command.says("Working without end");
    const program = folder.claudePid();
    command.child.kill("SIGINT");
    await command.says("Ctrl-C again quits at once");
    command.child.kill("SIGINT");
    expect(await command.exit).toBe(130);
    expect(command.stdout).not.toContain("■ Stopped");
    expect(await isGone(program)).toBe(true);
  });

  it("a kill that it cannot see leaves no scripted program behind", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({
      cardUrl: remote.cardUrl,
      script: { turns: [[{ say: "Waiting." }, { hang: true }]] },
    });
    await using command = troupe(["run", "go"], { cwd: folder.path });
    await command.says("Waiting.");
    const program = folder.claudePid();
    command.child.kill("SIGKILL");
    expect(await command.exit).toBe("SIGKILL");
    expect(await isGone(program)).toBe(true);
  });

  it("the end of whoever reads the output cancels the run", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl });
    await using command = troupe(["run", "--json", "#say Busy.\n#delay 400\n#say more\n#hang"], {
      cwd: folder.path,
    });
    await command.says('"subagent.text.delta"');
    command.child.stdout?.destroy();
    expect(await command.exit).toBe(130);
    expect(command.stderr).toBe("");
    expect(await remote.cancels()).toHaveLength(1);
  });
});
