import assert from "node:assert/strict";
import { join } from "node:path";
import type { DriverKit } from "./driver-kit.js";
import type { AddCheck } from "./driver-stage.js";
import { checkGrammar, endlessTool, STAGE_TOKEN, stageRun } from "./driver-stage.js";
import { filesHolding, processesOf } from "./process-facts.js";

/** A variable of the host that no program needs. */
const HOST_SECRET = { name: "TROUPE_CONFORMANCE_SECRET", value: "s3cret-of-the-host-alone" };

/** Trouble with the program, and what it and others can see. */
export function processChecks(kit: DriverKit, add: AddCheck): void {
  add("a program that dies fails the run, and what it had said is kept", async (stage) => {
    const staged = stageRun(await stage.play([{ say: "Half of it" }, { die: "SIGKILL" }]));
    const { code, retryable, result } = await staged.failure();
    assert.deepEqual([code, retryable], ["program_died", true]);
    assert.match(result.text, /^Half of it/);
    checkGrammar(staged.events);
  });

  add("a program that exits in the middle fails the run, with its last words", async (stage) => {
    const staged = stageRun(
      await stage.play([{ say: "Half" }, { stderr: "the disk is full\n" }, { exit: 3 }]),
    );
    const { code, message } = await staged.failure();
    assert.equal(code, "program_died");
    assert.match(message, /the disk is full/);
    checkGrammar(staged.events);
  });

  add("lines that the protocol does not know are told once, and the run goes on", async (stage) => {
    const noise = ["Debugger attached.", "{oops", "\u0000\u0001"].map((garbage) => ({ garbage }));
    const { run, events } = stageRun(await stage.play([{ say: "One." }, ...noise, { say: "Two." }]));
    assert.match((await run.result).text, /One\.\s*Two\./);
    const notices = events.filter((event) => event.type === "notice" && event.code === "unreadable_output");
    assert.equal(notices.length, 1);
    checkGrammar(events);
  });

  add("a missing program and a missing workspace are told apart", async (stage) => {
    const missing = await stageRun(stage.agent({ driver: kit.missing() })).failure();
    assert.equal(missing.code, "program_missing");
    assert.match(missing.message, /[Ii]nstall|option/);
    const workspace = join(stage.directory, "nowhere");
    const nowhere = await stageRun(await stage.play([{ say: "Hi" }], { workspace })).failure();
    assert.equal(nowhere.code, "invalid_input");
    assert.match(nowhere.message, /nowhere/);
  });

  const { tooOld } = kit;
  if (tooOld !== undefined)
    add("a program that is too old says so", async (stage) => {
      const staged = stageRun(stage.agent(tooOld.call(kit)));
      const { code, message } = await staged.failure();
      assert.equal(code, "program_too_old");
      assert.match(message, /[Uu]pdate|needed/);
      checkGrammar(staged.events);
    });

  add("a server's credential is in no argument, variable, file, event or raw output", async (stage) => {
    const { server, mcpServers } = await stage.tools({ work: endlessTool });
    process.env[HOST_SECRET.name] = HOST_SECRET.value;
    try {
      const agent = await stage.play([{ say: "I work." }, { tools: [{ name: "work" }] }], { mcpServers });
      const staged = stageRun(agent);
      await server.received(1);
      const visible = processesOf(stage.groups());
      if (process.platform === "linux") assert.ok(visible.length > 0);
      for (const { commandLine, environment } of visible) {
        assert.ok(!commandLine.includes(STAGE_TOKEN), "in an argument");
        assert.ok(!environment.includes(STAGE_TOKEN), "in a variable");
        assert.ok(!environment.includes(HOST_SECRET.value), "the host's own variable was inherited");
      }
      assert.deepEqual(filesHolding(stage.directory, STAGE_TOKEN), []);
      await staged.run.cancel("user");
      const { result } = await staged.failure();
      assert.ok(!JSON.stringify([result, staged.events]).includes(STAGE_TOKEN));
      assert.deepEqual(filesHolding(stage.directory, STAGE_TOKEN), []);
    } finally {
      delete process.env[HOST_SECRET.name];
    }
  });
}
