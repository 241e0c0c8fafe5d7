import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Agent as Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { expect, it } from "vitest";
import { createAgent } from "../../src/core/agent.js";
import type { RunService } from "../../src/core/run-service.js";
import { claude } from "../../src/drivers/claude/claude.js";
import { trackedGroups } from "../../src/drivers/process/process-group.js";
import { createHost, type Host } from "../../src/host/host.js";
import { createMemoryJournal } from "../../src/journal/memory-journal.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import { startScriptedAgent } from "../../src/testing/a2a/start.js";
import {
  type ScriptedClaudeOptions,
  scriptedClaude,
  scriptedClaudeEnvironment,
} from "../../src/testing/claude/start.js";
import { customValue, type Frame, framesOf } from "../support/frames.js";
import { CountingClock } from "./counting-clock.js";
import { CountingJournal } from "./counting-journal.js";
import { holdings, processesIn, reachableBytes, settled } from "./machine.js";

const RUNS = 200;
const WARM_UP = 50;
/** A run that is over, with its delegation, takes about 4 KB; one whose program's output is still held takes ten times that. */
const BYTES_PER_RUN = 16_384;
/** Runs that go on at once: one for each slot. The last two slots speak MCP as before 2026-07-28. */
const SLOTS = 5;
const slots = Array.from({ length: SLOTS }, (_, index) => `slot-${index}`);
/** Each delegates once, so a single permit that is not given back makes a later run fail as busy. */
const PERMITS = SLOTS;

/** How a run ends. */
const FATES = [
  "finishes",
  "remote_fails",
  "is_cancelled",
  "delegation_is_cancelled",
  "is_killed",
  "is_left",
] as const;
type Fate = (typeof FATES)[number];

const OBJECTIVES: Record<Fate, string> = {
  finishes: "#say Found.\n#artifact notes.md 2000",
  remote_fails: "#say Trying.\n#fail gone",
  is_cancelled: "#say Busy.\n#hang",
  delegation_is_cancelled: "#say Busy.\n#hang",
  is_killed: "#say Busy.\n#hang",
  is_left: "#say Busy.\n#hang",
};

const EXPECTED: Record<Fate, string> = {
  finishes: "finished",
  remote_fails: "finished",
  is_cancelled: "cancelled",
  delegation_is_cancelled: "finished",
  is_killed: "failed",
  is_left: "cancelled",
};

/** The same numbers on every machine (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

interface Scene {
  readonly host: Host;
  readonly url: string;
  readonly clock: CountingClock;
  readonly journal: CountingJournal;
  readonly tokens: string[];
  readonly folder: string;
}

async function openScene(folder: string, cardUrl: string): Promise<Scene> {
  const clock = new CountingClock();
  const journal = new CountingJournal(createMemoryJournal({ clock }));
  const tokens: string[] = [];
  const makeAgent = async (name: string, options: ScriptedClaudeOptions) => {
    const workspace = join(folder, name);
    await mkdir(workspace);
    const env = scriptedClaudeEnvironment({ ...options, trace: join(workspace, "trace.jsonl") });
    const watch: RunService = {
      name: "token-watch",
      attach: async ({ token }) => {
        tokens.push(token);
        return { detach: async () => undefined };
      },
    };
    const agent = createAgent(claude({ executable: scriptedClaude() }), {
      workspace,
      clock,
      env,
      services: [watch],
    });
    return [name, agent] as const;
  };
  const input = { agent: "research", objective: "{{prompt}}" };
  const calls = slots.map(() => ({ name: "delegate_to_agent", input }));
  const agents = [
    ...slots.map((slot, index) => makeAgent(slot, { legacy: index >= SLOTS - 2 })),
    makeAgent("all", { script: { turns: [[{ tools: calls }]] } }),
  ];
  const host = await createHost({
    agents: Object.fromEntries(await Promise.all(agents)),
    subAgents: [a2a({ name: "research", agentCardUrl: cardUrl, clock })],
    policy: { maxConcurrentPerHost: PERMITS },
    disconnectGraceMs: 10,
    journal,
    clock,
  });
  await host.probe();
  const { url } = await host.listen({ port: 0 });
  return { host, url, clock, journal, tokens, folder };
}

const send = (url: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

/** The program that runs in a slot now. */
function programOf({ folder }: Scene, slot: string): number {
  const lines = readFileSync(join(folder, slot, "trace.jsonl"), "utf8")
    .trim()
    .split("\n");
  const started = lines.map((line) => JSON.parse(line)).findLast((line) => "pid" in line);
  return Number(started?.pid);
}

/** Another reader of the thread, who would stay for ever. */
async function watch({ url }: Scene, threadId: string, signal: AbortSignal): Promise<void> {
  try {
    await (await fetch(`${url}/threads/${threadId}/events`, { signal })).text();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Runs once, and lets fate strike after so many frames. */
async function runOnce(scene: Scene, slot: string, runId: string, fate: Fate, after: number): Promise<void> {
  const { url, journal } = scene;
  const threadId = `thread-${runId}`;
  const leave = new AbortController();
  const ended = journal.ended(runId);
  const watching = new AbortController();
  const watched = watch(scene, threadId, watching.signal);
  const response = await fetch(`${url}/agents/${slot}/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId,
      runId,
      messages: [{ id: "m", role: "user", content: OBJECTIVES[fate] }],
    }),
    signal: leave.signal,
  });
  let frames = 0;
  const strikes = ({ event }: Frame) =>
    fate === "delegation_is_cancelled" ? event.name === "subagent.text.delta" : frames === after;
  try {
    for await (const frame of framesOf(response)) {
      frames++;
      if (!strikes(frame)) continue;
      if (fate === "is_cancelled") await (await send(`${url}/runs/${runId}/cancel`)).text();
      if (fate === "delegation_is_cancelled")
        await (await send(`${url}/delegations/${customValue(frame).delegationId}/cancel`)).text();
      if (fate === "is_killed") process.kill(programOf(scene, slot), "SIGKILL");
      if (fate !== "is_left") continue;
      leave.abort();
      watching.abort();
    }
  } catch (error) {
    if (!leave.signal.aborted) throw error;
  }
  await ended;
  watching.abort();
  await watched;
  const run = (await (await fetch(`${url}/runs/${runId}`)).json()) as { status: string };
  expect(run.status, `${runId} ${fate} after ${after} frames`).toBe(EXPECTED[fate]);
  const listed = (await (await fetch(`${url}/runs/${runId}/delegations`)).json()) as {
    delegations: { status: string; result?: { error?: { code: string } } }[];
  };
  for (const { status, result } of listed.delegations) {
    expect(status).not.toBe("working");
    expect(result?.error?.code).not.toBe("agent_busy");
  }
  if (fate === "finishes") expect(listed.delegations.map(({ status }) => status)).toEqual(["completed"]);
}

async function runMany(scene: Scene, first: number, count: number): Promise<Record<Fate, number>> {
  const seen = Object.fromEntries(FATES.map((fate) => [fate, 0])) as Record<Fate, number>;
  let next = first;
  await Promise.all(
    slots.map(async (slot) => {
      while (next < first + count) {
        const number = next++;
        const draw = random(number);
        const fate = FATES[draw(FATES.length)] ?? "finishes";
        // The program has started when its tool call is seen, which is the second frame.
        const after = (fate === "is_killed" ? 2 : 1) + draw(6);
        seen[fate]++;
        await runOnce(scene, slot, `run-${number}`, fate, after);
      }
    }),
  );
  return seen;
}

/** As many delegations at once as the host allows, in one run. @returns how many were let in. */
async function delegateToTheLimit({ url, journal }: Scene): Promise<number> {
  const ended = journal.ended("run-last");
  const messages = [{ id: "m", role: "user", content: "#say Busy.\n#hang" }];
  const response = await send(`${url}/agents/all/run`, {
    threadId: "thread-last",
    runId: "run-last",
    messages,
  });
  let admitted = 0;
  let refused = 0;
  for await (const { event } of framesOf(response)) {
    if (event.name === "subagent.text.delta") admitted++;
    else if (event.type === "TOOL_CALL_RESULT" && String(event.content).includes("agent_busy")) refused++;
    else continue;
    if (admitted + refused === PERMITS) await (await send(`${url}/runs/run-last/cancel`)).text();
  }
  await ended;
  return admitted;
}

/** The status of an MCP request with each of the tokens. */
async function knocks({ host, tokens }: Scene): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (const token of tokens) {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await send(host.mcpUrl, { jsonrpc: "2.0", id: 1, method: "tools/list" }, headers);
    await answer.text();
    statuses.add(answer.status);
  }
  return statuses;
}

it("cases 011, 030: 200 runs, most of them broken off at some moment, leave nothing behind", {
  timeout: 240_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "troupe-leaks-"));
  const temporary = join(folder, "tmp");
  await mkdir(temporary);
  const before = { TMPDIR: process.env.TMPDIR, dispatcher: getGlobalDispatcher() };
  const warnings: string[] = [];
  const onWarning = (warning: Error) => warnings.push(`${warning.name}: ${warning.message}`);
  const remote = await startScriptedAgent({ paceMs: 0 });
  process.env.TMPDIR = temporary;
  process.on("warning", onWarning);
  let dispatcher = new Dispatcher();
  setGlobalDispatcher(dispatcher);
  // The test's own connections would look like the host's.
  const disconnect = async () => {
    await dispatcher.close();
    dispatcher = new Dispatcher();
    setGlobalDispatcher(dispatcher);
  };
  try {
    const empty = holdings();
    const scene = await openScene(folder, remote.cardUrl);
    // Code that is compiled and caches that fill up are no leak.
    const fates = await runMany(scene, 0, WARM_UP);
    await disconnect();
    const warm = { ...holdings(), bytes: reachableBytes() };
    for (const [fate, count] of Object.entries(await runMany(scene, WARM_UP, RUNS - WARM_UP)))
      fates[fate as Fate] += count;
    await disconnect();

    expect(Object.values(fates).reduce((sum, count) => sum + count)).toBe(RUNS);
    for (const fate of FATES) expect(fates[fate], fate).toBeGreaterThan(RUNS / FATES.length / 2);
    expect(scene.tokens).toHaveLength(RUNS);
    expect(new Set(scene.tokens).size).toBe(RUNS);
    expect([...(await knocks(scene))]).toEqual([401]);
    expect(trackedGroups()).toEqual([]);
    expect(slots.flatMap((slot) => processesIn(join(folder, slot)))).toEqual([]);
    expect(scene.clock.open).toEqual([]);
    const readers = await settled(
      () => scene.journal.readers,
      (count) => count === 0,
    );
    expect(readers).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
    // What the host may remember of a run that is over: its record, its events, its result.
    expect((reachableBytes() - warm.bytes) / (RUNS - WARM_UP)).toBeLessThan(BYTES_PER_RUN);
    await disconnect();
    // Connections to the remote are kept for a while, but no more of them than once worked at the same time.
    const open = await settled(holdings, ({ sockets }) => sockets <= 2 * SLOTS);
    expect(open.sockets).toBeLessThanOrEqual(2 * SLOTS);
    expect({ ...open, files: 0, sockets: 0 }).toEqual({ ...warm, bytes: undefined, files: 0, sockets: 0 });
    expect(await delegateToTheLimit(scene)).toBe(PERMITS);

    await scene.host.close();
    await disconnect();
    const after = await settled(
      holdings,
      ({ files, sockets }) => files <= empty.files && sockets <= empty.sockets,
    );
    expect(after).toEqual({ ...empty, listeners: warm.listeners });
    expect(scene.clock.open).toEqual([]);
    expect(scene.journal.readers).toBe(0);
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", onWarning);
    setGlobalDispatcher(before.dispatcher);
    if (before.TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before.TMPDIR;
    await remote.close();
    await rm(folder, { recursive: true, force: true });
  }
});

it("a signal that outlives its runs keeps nothing of them", async () => {
  const { signal } = new AbortController();
  const env = scriptedClaudeEnvironment({ script: { turns: [[{ say: "Hello." }]] } });
  const agent = createAgent(claude({ executable: scriptedClaude() }), { workspace: tmpdir(), env });
  const runs = [1, 2, 3].map(() => agent.run("hi", { signal }));
  expect(getEventListeners(signal, "abort").length).toBeGreaterThan(0);
  for (const run of runs) expect((await run.result).text).toBe("Hello.");
  await new Promise((resolve) => setImmediate(resolve));
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it.each([
  ["an idle host", "idle"],
  ["a host whose remote cannot be reached", "unreachable"],
  ["a host with a run in mid-delegation, and a reader", "running"],
  ["a host that waits for a remote to confirm a cancel", "stubborn"],
])("nothing keeps the process alive after close(): %s", async (_title, scene) => {
  await using remote = await disposable(startScriptedAgent({ paceMs: 0 }));
  const program = fileURLToPath(new URL("./close-host.js", import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [program, scene, remote.value.cardUrl],
    {
      timeout: 30_000,
      killSignal: "SIGKILL",
    },
  );
  expect(stderr).toBe("");
  const told = JSON.parse(stdout);
  expect(told).toMatchObject({ closed: true });
  if (scene === "idle" || scene === "unreachable") return;
  expect(told).toMatchObject({
    status: "cancelled",
    last: { type: "RUN_FINISHED", result: { status: "cancelled" } },
  });
  expect((await remote.value.seen()).some(({ method }) => /cancel/i.test(method))).toBe(true);
});

async function disposable<T extends { close(): Promise<void> }>(starting: Promise<T>) {
  const value = await starting;
  return { value, [Symbol.asyncDispose]: () => value.close() };
}
