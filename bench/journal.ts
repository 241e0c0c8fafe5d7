import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryJournal, type Journal, type ThreadEvent } from "../dist/index.js";
import { createSqliteJournal } from "../dist/sqlite.js";
import { median, type Row, row } from "./measure.js";

const ENTRIES = 100_000;
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
  if (index === ENTRIES - 1) return { type: "run.finished", text: "" };
  if (index % 50 === 0)
    return { ...identity, type: "subagent.status", status: "working", message: `step ${index}` };
  return {
    ...identity,
    type: "subagent.text.delta",
    messageId: `m-${Math.floor(index / 500)}`,
    delta: `word ${index} `,
  };
}

async function append(journal: Journal<ThreadEvent>): Promise<number> {
  const begin = performance.now();
  for (let index = 0; index < ENTRIES; index += BURST) {
    const burst = Array.from({ length: BURST }, (_, offset) =>
      journal.append({ thread: "/t", runId: identity.runId, event: eventAt(index + offset) }),
    );
    await Promise.all(burst);
  }
  return ENTRIES / ((performance.now() - begin) / 1_000);
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
  const rates = {
    memory: { append: [] as number[], replay: [] as number[] },
    sqlite: { append: [] as number[], replay: [] as number[] },
  };
  try {
    for (let round = 0; round < 4; round++) {
      const file = join(folder, `${round}.db`);
      const journals = {
        memory: createMemoryJournal<ThreadEvent>(WHOLE),
        sqlite: await createSqliteJournal<ThreadEvent>({ file, ...WHOLE }),
      };
      for (const engine of ["memory", "sqlite"] as const) {
        const appended = await append(journals[engine]);
        const read = await replay(journals[engine]);
        await journals[engine].close();
        // The first round warms up.
        if (round === 0) continue;
        rates[engine].append.push(appended);
        rates[engine].replay.push(read);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const { memory, sqlite } = rates;
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
