import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryJournal, type Journal, type ThreadEvent } from "../dist/index.js";
import { createRedisJournal } from "../dist/redis.js";
import { createSqliteJournal } from "../dist/sqlite.js";
import { median, type Row, row } from "./measure.js";
import { startRedis } from "./redis.js";

const ENTRIES = 100_000;
/** A run that goes on for very long. */
const LONG = 1_000_000;
/** Entries that arrive in one turn of the event loop. */
const BURST = 50;
/** Each entry by itself, as a reader that keeps up gets it: nothing is merged. */
const WHOLE = { mergeBeyond: Number.POSITIVE_INFINITY };
/** Entries a second that are asked for. */
const TARGETS = { memory: 200_000, sqlite: 100_000 };

const ENGINE_NAMES = { memory: "memory", sqlite: "SQLite", redis: "Redis" };

const identity = {
  runId: "run-5f0c5f0c5f0c5f0c5f0c5f0c",
  parentToolCallId: "toolu_01AbCdEfGhIjKlMnOpQrStUv",
  delegationId: "del-5f0c5f0c5f0c5f0c5f0c5f0c",
  agentKey: "research",
  agentName: "Research Agent",
  protocol: "a2a",
  remoteTaskId: "3f1f2b9e-5a52-4e55-9f4f-2f6a2f0c1d11",
  remoteContextId: "8a0a1a52-0f8e-4f0c-b0ad-0d0f5a1c2e22",
} as const;

/** What most entries are: pieces of text, and a status now and then. */
function eventAt(index: number): ThreadEvent {
  if (index === 0) return { type: "run.started", agent: "claude", messages: [] };
  if (index === LONG - 1) return { type: "run.finished", text: "" };
  if (index % 50 === 0)
    return { ...identity, type: "subagent.status", status: "working", message: `step ${index}` };
  return {
    ...identity,
    type: "subagent.text.delta",
    messageId: `m-${Math.floor(index / 500)}`,
    delta: `word ${index} `,
  };
}

async function append(journal: Journal<ThreadEvent>, from = 0, to = ENTRIES): Promise<number> {
  const begin = performance.now();
  for (let index = from; index < to; index += BURST) {
    const burst = Array.from({ length: BURST }, (_, offset) =>
      journal.append({ thread: "/t", runId: identity.runId, event: eventAt(index + offset) }),
    );
    await Promise.all(burst);
  }
  return (to - from) / ((performance.now() - begin) / 1_000);
}

async function replay(journal: Journal<ThreadEvent>, entries = ENTRIES): Promise<number> {
  const begin = performance.now();
  let count = 0;
  for await (const batch of journal.read("/t")) count += batch.length;
  if (count !== entries) throw new Error(`${count} entries`);
  return entries / ((performance.now() - begin) / 1_000);
}

/** Where the journals of the benchmark are kept. */
interface Places {
  readonly folder: string;
  readonly redis?: string;
}

type Engine = "memory" | "sqlite" | "redis";

/** A journal of each engine that there is, all of them empty. */
async function open({ folder, redis }: Places, name: string, keep = 2 * LONG) {
  const file = join(folder, `${name}.db`);
  const journals: [Engine, Journal<ThreadEvent>][] = [
    ["memory", createMemoryJournal<ThreadEvent>({ ...WHOLE, maxItemsPerThread: keep })],
    ["sqlite", await createSqliteJournal<ThreadEvent>({ ...WHOLE, file, maxEntriesPerThread: keep })],
  ];
  if (redis !== undefined) {
    const options = { ...WHOLE, url: redis, prefix: `bench-${name}`, maxEntriesPerThread: keep };
    journals.push(["redis", await createRedisJournal<ThreadEvent>(options)]);
  }
  return journals;
}

const none = () => ({ append: [] as number[], replay: [] as number[] });

/** What the journals do: entries a second, written in small bursts and read from the beginning. */
export async function journalRows(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const rates: Record<Engine, { append: number[]; replay: number[] }> = {
    memory: none(),
    sqlite: none(),
    redis: none(),
  };
  const redis = await startRedis();
  const places: Places = { folder, ...(redis && { redis: redis.url }) };
  try {
    for (let round = 0; round < 4; round++) {
      for (const [engine, journal] of await open(places, `short-${round}`)) {
        const appended = await append(journal);
        const read = await replay(journal);
        await journal.close();
        // The first round warms up.
        if (round === 0) continue;
        rates[engine].append.push(appended);
        rates[engine].replay.push(read);
      }
    }
    const growth: Row[] = [];
    for (const [engine, journal] of await open(places, "long")) {
      growth.push(...(await longRows(engine, journal, median(rates[engine].replay))));
      await journal.close();
    }
    const { memory } = rates;
    const entries = `${ENTRIES.toLocaleString("en")} entries`;
    const compared = (["sqlite", "redis"] as const).flatMap((engine) =>
      (
        [
          ["append", "appending to"],
          ["replay", "replay from"],
        ] as const
      ).flatMap(([kind, doing]) => {
        const rate = rates[engine][kind];
        if (rate.length === 0) return [];
        const what = `${doing} ${ENGINE_NAMES[engine]}, ${entries}`;
        return [row(`journal-${kind}-${engine}`, what, "1/s", median(rate), median(memory[kind]), "memory")];
      }),
    );
    const targets = (["memory", "sqlite"] as const).map((engine) =>
      row(
        `journal-${engine}-target`,
        `replay from ${ENGINE_NAMES[engine]}, ${entries}`,
        "1/s",
        median(rates[engine].replay),
        TARGETS[engine],
        "the rate asked for",
      ),
    );
    return [...compared, ...targets, ...growth];
  } finally {
    redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A run of a million entries: what its end costs against its beginning, and its replay against that of a shorter one. */
async function longRows(engine: Engine, journal: Journal<ThreadEvent>, short: number): Promise<Row[]> {
  const first = await append(journal, 0, ENTRIES);
  await append(journal, ENTRIES, LONG - ENTRIES);
  const last = await append(journal, LONG - ENTRIES, LONG);
  const name = ENGINE_NAMES[engine];
  const shown = (count: number) => count.toLocaleString("en");
  return [
    row(
      `journal-growth-${engine}`,
      `appending the last ${shown(ENTRIES)} of ${shown(LONG)} entries to ${name}`,
      "1/s",
      last,
      first,
      `its first ${shown(ENTRIES)}`,
    ),
    row(
      `journal-replay-long-${engine}`,
      `replay of ${shown(LONG)} entries from ${name}`,
      "1/s",
      await replay(journal, LONG),
      short,
      `one of ${shown(ENTRIES)}`,
    ),
  ];
}
