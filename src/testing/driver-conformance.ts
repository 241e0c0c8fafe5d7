import assert from "node:assert/strict";
import { createMemoryThreadStore } from "../core/thread.js";
import { approvalChecks } from "./driver-approvals.js";
import type { DriverKit } from "./driver-kit.js";
import { processChecks } from "./driver-processes.js";
import {
  type AddCheck,
  answeringTool,
  checkGrammar,
  DriverStage,
  endlessTool,
  stageRun,
} from "./driver-stage.js";
import { toolChecks } from "./driver-tools.js";

/** One promise of a driver; `check` rejects when it is broken. */
export interface DriverCheck {
  readonly name: string;
  check(): Promise<void>;
}

/**
 * What every driver has to hold, whatever its program: events, cancel at every moment, threads, approvals, MCP calls, trouble with
 * the program, and where credentials are. Give each check to the test runner:
 * `for (const { name, check } of driverContract(kit)) it(name, check)`.
 */
export function driverContract(kit: DriverKit): DriverCheck[] {
  const checks: DriverCheck[] = [];
  const add: AddCheck = (name, check) =>
    checks.push({
      name,
      async check() {
        const stage = new DriverStage(kit);
        await stage.open();
        try {
          await check(stage);
        } catch (error) {
          await stage.close().catch(() => undefined);
          throw error;
        }
        await stage.close();
      },
    });
  runChecks(kit, add);
  cancelChecks(add);
  threadChecks(kit, add);
  approvalChecks(add);
  toolChecks(kit, add);
  processChecks(kit, add);
  return checks;
}

/** Registers every check of {@link driverContract} with a test runner; `only` leaves out those whose name it does not match. */
export function describeDriver(
  kit: DriverKit,
  test: (name: string, check: () => Promise<void>) => unknown,
  only = /(?:)/,
): void {
  for (const { name, check } of driverContract(kit)) if (only.test(name)) test(`${kit.name}: ${name}`, check);
}

const WORDS = Array.from({ length: 400 }, (_, index) => `word${index}`).join(" ");

function runChecks(kit: DriverKit, add: AddCheck): void {
  add("says what it is, and that does not change", async (stage) => {
    const { driver } = await stage.play([{ say: "Hi" }]);
    const description = driver.describe();
    assert.match(description.name, /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/);
    assert.equal(description.name, kit.name);
    assert.deepEqual(driver.describe(), description);
  });

  add("text comes in pieces, and the run ends once with all of it", async (stage) => {
    const { run, events } = stageRun(await stage.play([{ say: "One two three." }, { say: "Four." }]));
    const result = await run.result;
    checkGrammar(events);
    assert.equal(events.at(-1)?.type, "run.finished");
    assert.match(result.text, /One two three\.\s*Four\./);
    assert.match(result.summary, /Four\.$/);
    assert.ok(events.filter(({ type }) => type === "text.delta").length >= 2);
  });

  add("a prompt of a megabyte arrives whole", async (stage) => {
    const prompt = `begin-${"x".repeat(1024 * 1024)}-end`;
    const { run } = stageRun(await stage.play([{ say: "{{prompt}}" }]), prompt);
    assert.ok((await run.result).text === prompt, "the prompt came back changed");
  });

  add("characters that shells and terminals know do no harm in a prompt", async (stage) => {
    const prompt = "--help $(touch x) `id` \"quoted\" 'single'\n\ttab \u2028 👩‍👩‍👧";
    const { run } = stageRun(await stage.play([{ say: "{{prompt}}" }]), prompt);
    assert.equal((await run.result).text, prompt);
  });
}

function cancelChecks(add: AddCheck): void {
  add("cancelled before it starts: no program is started", async (stage) => {
    const agent = await stage.play([{ say: "Hi" }]);
    const staged = stageRun(agent, "Hello", { signal: AbortSignal.abort("too early") });
    const error = await staged.failure();
    assert.equal(error.code, "cancelled");
    checkGrammar(staged.events);
    assert.equal(staged.events.at(-1)?.type, "run.cancelled");
    assert.equal(error.result.raw.stdout, "");
  });

  add("cancelled at once, and before the first event", async (stage) => {
    const agent = await stage.play([{ hang: true }]);
    const atOnce = stageRun(agent);
    await atOnce.run.cancel("user");
    assert.equal((await atOnce.failure()).code, "cancelled");
    checkGrammar(atOnce.events);

    const waiting = stageRun(agent);
    while (stage.groups().length === 0) await new Promise((resolve) => setImmediate(resolve));
    await waiting.run.cancel("user");
    assert.equal((await waiting.failure()).code, "cancelled");
    checkGrammar(waiting.events);
    assert.deepEqual(stage.groups(), []);
  });

  add("cancelled in the middle of its text: what it had said is kept", async (stage) => {
    const staged = stageRun(await stage.play([{ say: WORDS, delayMs: 20 }]));
    await staged.seen(({ type }) => type === "text.delta");
    await staged.run.cancel("user");
    const { code, result } = await staged.failure();
    assert.equal(code, "cancelled");
    assert.match(result.text, /^word0/);
    assert.ok(!result.text.includes("word399"));
    checkGrammar(staged.events);
    assert.deepEqual(stage.groups(), []);
  });

  add("cancelled while a tool works: the call is closed, and the server's side ends", async (stage) => {
    const { server, mcpServers } = await stage.tools({ work: endlessTool });
    const agent = await stage.play([{ say: "I work." }, { tools: [{ name: "work" }] }], { mcpServers });
    const staged = stageRun(agent);
    await server.received(1);
    await staged.run.cancel("user");
    const { code, result } = await staged.failure();
    assert.equal(code, "cancelled");
    assert.match(result.text, /^I work\./);
    checkGrammar(staged.events);
    assert.deepEqual(stage.groups(), []);
  });

  add("cancelled after its end: nothing happens", async (stage) => {
    const { run, events } = stageRun(await stage.play([{ say: "Hi" }]));
    await run.result;
    const before = [...events];
    await run.cancel("late");
    assert.deepEqual(events, before);
    assert.equal((await run.result).text, "Hi");
  });
}

function threadChecks(kit: DriverKit, add: AddCheck): void {
  add(
    "a thread is gone on with, where the driver can; else that is refused before anything starts",
    async (stage) => {
      const threads = createMemoryThreadStore();
      const agent = await stage.play([{ say: "Hi" }], { threads });
      const { resume, fork } = agent.driver.describe().capabilities;
      await agent.run("Hello", { thread: "t" }).result;
      const checkpoint = await threads.get("t");
      for (const [mode, can] of [
        ["resume", resume],
        ["fork", fork],
      ] as const) {
        const staged = stageRun(agent, "Again", { thread: "t", threadMode: mode });
        if (can) assert.equal((await staged.run.result).text, "Hi");
        else {
          const { code, result } = await staged.failure();
          assert.equal(code, "capability_unsupported");
          assert.equal(result.raw.stdout, "");
        }
        checkGrammar(staged.events);
      }
      if (!resume) return;
      assert.deepEqual([checkpoint?.driver, checkpoint?.workspace], [kit.name, stage.workspace]);
      assert.ok((checkpoint?.session ?? "") !== "");
    },
  );

  add("a conversation that the program has lost is a typed error", async (stage) => {
    const threads = createMemoryThreadStore();
    const agent = await stage.play([{ say: "Hi" }], { threads });
    if (!agent.driver.describe().capabilities.resume) return;
    await agent.run("Hello", { thread: "t" }).result;
    const forgetful = await stage.play([{ say: "Hi" }], { threads, forgetful: true });
    const staged = stageRun(forgetful, "Again", { thread: "t", threadMode: "resume" });
    assert.equal((await staged.failure()).code, "resume_failed");
    checkGrammar(staged.events);
  });

  add("only a run that finished is a point to go on from", async (stage) => {
    const threads = createMemoryThreadStore();
    const { server, mcpServers } = await stage.tools({ work: endlessTool, quick: answeringTool("x") });
    const agent = await stage.play([{ tools: [{ name: "work" }] }], { threads, mcpServers });
    const staged = stageRun(agent, "Hello", { thread: "t" });
    await server.received(1);
    await staged.run.cancel("user");
    await staged.failure();
    assert.equal(await threads.get("t"), undefined);
  });
}
