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

async function replay(journal: Journal<ThreadEvent>): Promise<number> {
  const begin = performance.now();
  let count = 0;
  for await (const batch of journal.read("/t")) count += batch.length;
  if (count !== ENTRIES) throw new Error(`${count} entries`);
  return ENTRIES / ((performance.now() - begin) / 1_000);
}

/** What the journals do: entries a second, written in small bursts and read from the beginning. */
export async function journalRows(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const none = () => ({ append: [] as number[], replay: [] as number[] });
  const rates = { memory: none(), sqlite: none(), redis: none() };
  const redis = await startRedis();
  try {
    for (let round = 0; round < 4; round++) {
      const file = join(folder, `${round}.db`);
      const journals = {
        memory: createMemoryJournal<ThreadEvent>(WHOLE),
        sqlite: await createSqliteJournal<ThreadEvent>({ file, ...WHOLE }),
        ...(redis && {
          redis: await createRedisJournal<ThreadEvent>({
            url: redis.url,
            prefix: `bench-${round}`,
            ...WHOLE,
          }),
        }),
      };
      for (const engine of ["memory", "sqlite", "redis"] as const) {
        const journal = journals[engine];
        if (journal === undefined) continue;
        const appended = await append(journal);
        const read = await replay(journal);
        await journal.close();
        // The first round warms up.
        if (round === 0) continue;
        rates[engine].append.push(appended);
        rates[engine].replay.push(read);
      }
    }
  } finally {
    redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const { memory, sqlite } = rates;
  const growth = await growthRates();
  const target = "the rate asked for";
  const entries = `of ${ENTRIES.toLocaleString("en")} entries`;
  return [
    row(
      "journal-append-sqlite",
      `appending ${entries} to SQLite`,
      "1/s",
      median(sqlite.append),
      median(memory.append),
      "memory",
    ),
    row(
      "journal-replay-sqlite",
      `replay ${entries} from SQLite`,
      "1/s",
      median(sqlite.replay),
      median(memory.replay),
      "memory",
    ),
    ...(redis === undefined
      ? []
      : [
          row(
            "journal-append-redis",
            `appending ${entries} to Redis`,
            "1/s",
            median(rates.redis.append),
            median(memory.append),
            "memory",
          ),
          row(
            "journal-replay-redis",
            `replay ${entries} from Redis`,
            "1/s",
            median(rates.redis.replay),
            median(memory.replay),
            "memory",
          ),
        ]),
    row(
      "journal-growth",
      "the last 100,000 of a run of 1,000,000 entries, in memory",
      "1/s",
      growth.last,
      growth.first,
      "its first 100,000",
    ),
    row(
      "journal-sqlite-target",
      `replay ${entries} from SQLite`,
      "1/s",
      median(sqlite.replay),
      TARGETS.sqlite,
      target,
    ),
    row(
      "journal-memory-target",
      `replay ${entries} from memory`,
      "1/s",
      median(memory.replay),
      TARGETS.memory,
      target,
    ),
  ];
}

/** Entries a second at the beginning and at the end of a run of a million. */
async function growthRates(): Promise<{ first: number; last: number }> {
  const warm = createMemoryJournal<ThreadEvent>();
  await append(warm);
  await warm.close();
  const journal = createMemoryJournal<ThreadEvent>({ maxItemsPerThread: 2 * LONG });
  const first = await append(journal, 0, ENTRIES);
  await append(journal, ENTRIES, LONG - ENTRIES);
  const last = await append(journal, LONG - ENTRIES, LONG);
  await journal.close();
  return { first, last };
}
