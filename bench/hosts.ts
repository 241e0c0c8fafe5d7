import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readSse } from "../dist/wire/sse-reader.js";
import { median, type Row, row, type Started, start } from "./measure.js";
import { startRedis } from "./redis.js";

/** Words of one run. */
export const WORDS = 2_000;
const RUNS = 20;
const BROWSERS = 1_000;
const STARTS = 7;
const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

let runs = 0;

/** Runs the talker, and reads it to its end. */
async function talk(url: string, threadId = `t${++runs}`): Promise<void> {
  const messages = [{ id: "m", role: "user", content: "Talk." }];
  const response = await fetch(`${url}/agents/talker/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId, runId: threadId, messages }),
  });
  await readToEnd(response);
}

async function readToEnd(response: Response): Promise<void> {
  if (response.body === null || !response.ok) throw new Error(`status ${response.status}`);
  for await (const { data } of readSse(response.body, { maxEventBytes: 2 ** 26 }))
    if (data.includes('"RUN_FINISHED"')) return;
  throw new Error("The run did not finish.");
}

/** Words a second of many runs at once, shared among hosts. */
async function rateOf(hosts: readonly Started[]): Promise<number> {
  const began = performance.now();
  await Promise.all(Array.from({ length: RUNS }, (_, index) => talk(hosts[index % hosts.length]?.url ?? "")));
  return (RUNS * WORDS) / ((performance.now() - began) / 1_000);
}

/** A thousand browsers that come back at once and read a whole run: milliseconds until all have it, and what one alone takes. */
async function storm(url: string): Promise<{ readonly all: number; readonly one: number }> {
  await talk(url, "storm");
  const connect = async () => {
    const began = performance.now();
    await readToEnd(await fetch(`${url}/threads/storm/events`));
    return performance.now() - began;
  };
  const alone: number[] = [];
  for (let round = 0; round < 10; round++) alone.push(await connect());
  const waits = await Promise.all(Array.from({ length: BROWSERS }, connect));
  return { all: Math.max(...waits), one: median(alone) };
}

/** Milliseconds from a program's start until it says something. */
async function untilItSpeaks(args: readonly string[], cwd: string): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  const took = performance.now() - began;
  child.kill("SIGKILL");
  await once(child, "exit");
  return took;
}

/** Hosts as a whole: their start, a storm of browsers, and two of them against one. */
export async function hostRows(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const redis = await startRedis();
  const rows: Row[] = [];
  const started: Started[] = [];
  try {
    writeFileSync(
      join(folder, "troupe.config.json"),
      JSON.stringify({ agents: { claude: { driver: "claude" } }, serve: { port: 0 }, journal: "memory" }),
    );
    const serving: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < STARTS; round++) {
      serving.push(await untilItSpeaks([MAIN, "serve", "--json"], folder));
      bare.push(await untilItSpeaks(["-e", "console.log(1)"], folder));
    }
    rows.push(
      row(
        "host-start",
        "from the start of `troupe serve` to its address, p50",
        "ms",
        median(serving),
        median(bare),
        "node alone",
      ),
    );
    if (redis === undefined) return rows;
    for (let index = 0; index < 2; index++) started.push(await start("./replica.ts", redis.url));
    const [one] = started;
    if (one === undefined) return rows;
    await rateOf([one]);
    const alone: number[] = [];
    const shared: number[] = [];
    for (let round = 0; round < 3; round++) {
      alone.push(await rateOf([one]));
      shared.push(await rateOf(started));
    }
    rows.push(
      row(
        "host-two",
        `words a second of ${RUNS} runs, two hosts on one Redis`,
        "1/s",
        median(shared),
        median(alone),
        "one host",
      ),
    );
    const { all, one: single } = await storm(one.url);
    rows.push(
      row(
        "host-storm",
        `${BROWSERS.toLocaleString("en")} browsers read a run of ${WORDS.toLocaleString("en")} words at once, until the last has it`,
        "ms",
        all,
        single * BROWSERS,
        "one after the other",
      ),
    );
    return rows;
  } finally {
    for (const process of started) process.stop();
    redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
