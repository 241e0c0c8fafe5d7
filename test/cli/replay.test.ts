import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { startRemote } from "./remote.js";
import { type Command, type Folder, makeFolder, troupe, troupeInTerminal } from "./troupe.js";

const problem = await whyNoSqlite();

interface Recorded {
  readonly run: Command;
  readonly runId: string;
  readonly delegationId: string;
}

/** A run that is over, in the journal of `folder`. */
async function record(folder: Folder, prompt: string): Promise<Recorded> {
  const run = troupe(["run", "--json", prompt], { cwd: folder.path });
  expect(await run.exit, run.stderr).toBe(0);
  const started = run.lines.find(({ event }) => Object(event).type === "subagent.started");
  const { runId, delegationId } = Object(started?.event);
  return { run, runId, delegationId };
}

async function replay(folder: Folder, ...args: string[]): Promise<Command> {
  const command = troupe(["replay", ...args], { cwd: folder.path });
  await command.exit;
  return command;
}

describe.skipIf(problem !== undefined)(`troupe replay${problem ? ` (${problem})` : ""}`, () => {
  it("shows a run as it was, a delegation with its audit record, and a thread", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl, config: { journal: "sqlite:kept/${NAME:-j}.db" } });
    const { run, runId, delegationId } = await record(folder, "#say Found it.\n#artifact notes.bin 300");
    expect(existsSync(join(folder.path, "kept", "j.db"))).toBe(true);

    const shown = await replay(folder, runId);
    expect(await shown.exit, shown.stderr).toBe(0);
    expect(shown.stdout).toMatch(/^> #say Found it\.\n/);
    expect(shown.stdout).toContain("▸ delegate_to_agent(");
    expect(shown.stdout).toContain("    research │ Found it.\n");
    expect(shown.stdout).toContain("  ✔ research: Done in ");
    expect(shown.stdout).toMatch(/✔ Done in .* 1 delegation · 1 artifact/);
    expect(shown.stderr).toBe("");

    const json = await replay(folder, runId, "--json");
    expect(json.lines).toEqual(run.lines);
    const one = await replay(folder, delegationId, "--json");
    expect(one.lines).toEqual(run.lines.filter(({ event }) => Object(event).delegationId === delegationId));

    const audit = await replay(folder, delegationId);
    expect(await audit.exit).toBe(0);
    for (const words of [
      new RegExp(`^Delegation {2}${delegationId}$`, "m"),
      /^State {7}completed$/m,
      /^Agent {7}research \(Research Agent, a2a\)$/m,
      /^Card {8}sha256 [0-9a-f]{64}$/m,
      new RegExp(
        `^Asked by {4}claude, run ${runId}, tool call toolu_\\w+ \\(found: strong\\), thread thread-`,
        "m",
      ),
      /^Objective {3}/m,
      /^Sent {8}message msg-\w+, \d+ B, sha256/m,
      /^Remote {6}task \S+, context \S+$/m,
      /^\d{4}-\d\d-\d\dT.* {4,}\+0\.000 s {2}#\d+ started$/m,
      /file notes\.bin, 300 B, sha256 [0-9a-f]{64}$/m,
      / finished$/m,
      /^ {2}"status": "completed",$/m,
    ])
      expect(audit.stdout.replaceAll(/\n {12}/g, " ")).toMatch(words);

    const threadId = /thread (thread-\w+)/.exec(audit.stdout.replaceAll(/\n\s+/g, " "))?.[1] ?? "";
    const thread = await replay(folder, threadId, "--instant");
    expect(thread.stdout).toBe(shown.stdout);
  });

  it("in a terminal it is the tree; with a speed it takes its time", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl, config: { journal: "sqlite:j.db" } });
    const { runId } = await record(folder, "#say Found it.");
    await using terminal = troupeInTerminal(["replay", runId], { cwd: folder.path });
    expect(await terminal.exit).toBe(0);
    expect(terminal.stdout).toMatch(/✔.*research.*Done/);
    expect(terminal.stdout).toContain("Found it.");
    const slow = await replay(folder, runId, "--speed", "1000");
    expect(slow.stdout).toContain("    research │ Found it.\n");
  });

  it("a journal may be named, and what is not in it is an error that says so", async () => {
    await using folder = await makeFolder();
    for (const args of [
      ["none"],
      ["none", "--journal", "sqlite:missing.db"],
      ["none", "--journal", "memory"],
      ["none", "--speed", "0"],
      ["none", "--speed", "2", "--instant"],
    ]) {
      const command = await replay(folder, ...args);
      expect(await command.exit, args.join(" ")).toBe(2);
      expect(command.stderr, args.join(" ")).not.toBe("");
      expect(command.stdout).toBe("");
    }
    expect(existsSync(join(folder.path, "missing.db"))).toBe(false);
    await using remote = await startRemote();
    await folder.configure({ cardUrl: remote.cardUrl, config: { journal: "sqlite:j.db" } });
    await record(folder, "#say Found it.");
    await using elsewhere = await makeFolder();
    const unknown = await replay(elsewhere, "run-0", "--journal", `sqlite:${join(folder.path, "j.db")}`);
    expect(await unknown.exit).toBe(2);
    expect(unknown.stderr).toContain('There is no thread, run or delegation "run-0" in');
    await folder.configure({ cardUrl: remote.cardUrl, config: { journal: "memory" } });
    const memory = await replay(folder, "run-0");
    expect(await memory.exit).toBe(2);
    expect(memory.stderr).toContain('Set "journal": "sqlite:FILE"');
  });

  it("a file that is no journal is refused by all commands, and left alone", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    const text = "not a database, but something that somebody may want to keep. ".repeat(20);
    writeFileSync(join(folder.path, "j.db"), text);
    await folder.configure({
      cardUrl: remote.cardUrl,
      config: { journal: "sqlite:j.db", serve: { port: 0 } },
    });
    for (const args of [["serve"], ["run", "x"], ["replay", "x"]]) {
      const command = troupe(args, { cwd: folder.path });
      expect(await command.exit, args[0]).toBe(2);
      expect(command.stderr).toContain("is no SQLite database");
    }
    expect(readFileSync(join(folder.path, "j.db"), "utf8")).toBe(text);
  });

  it("shows what a host that serves has recorded so far; serve keeps it in .troupe by itself", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    await folder.configure({ cardUrl: remote.cardUrl, config: { serve: { port: 0 } } });
    await using serving = troupe(["serve", "--json"], { cwd: folder.path });
    await serving.says("}\n");
    const response = await fetch(`${serving.lines[0]?.url}/agents/claude/run`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        threadId: "t",
        runId: "r",
        messages: [{ id: "m", role: "user", content: "#say Half of it.\n#hang" }],
      }),
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let seen = ""; !seen.includes('"subagent.text.delta"'); )
      seen += (await reader?.read())?.value ?? "";
    const shown = await replay(folder, "r");
    expect(await shown.exit).toBe(0);
    expect(shown.stdout).toContain("  research: starting\n");
    expect(shown.stderr).toContain("the run has no end yet");
    expect(readFileSync(join(folder.path, ".troupe", ".gitignore"), "utf8")).toBe("*\n");
    await reader?.cancel();
    serving.child.kill("SIGINT");
    expect(await serving.exit).toBe(0);
    expect((await replay(folder, "t")).stdout).toMatch(/■ Cancelled|■ Stopped/);
  });
});
