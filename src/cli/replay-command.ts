import { resolve } from "node:path";
import { createEncoder } from "../bridges/agui/encoder.js";
import type { ThreadEntry, ThreadEvent } from "../bridges/agui/event.js";
import { createThreadView } from "../client/thread-view.js";
import type { RunView } from "../client/view.js";
import { ConfigError } from "../config/config-error.js";
import { findConfig, loadConfig } from "../config/load.js";
import { sleep, systemClock } from "../core/clock.js";
import { TroupeError } from "../core/errors.js";
import { isRunTerminal } from "../core/run-event.js";
import { threadIdOf, threadKey } from "../host/authoriser.js";
import type { Journal, RecordedSpan } from "../journal/journal.js";
import { createRedisJournal } from "../journal/redis-journal.js";
import { createSqliteJournal } from "../journal/sqlite-journal.js";
import { auditRecord } from "./audit-record.js";
import { EXIT } from "./exit-code.js";
import { DEFAULT_JOURNAL, isRedis, journalFile } from "./storage.js";
import { JsonPrinter } from "./tree/json-printer.js";
import { PlainPrinter } from "./tree/plain-printer.js";
import type { Printer } from "./tree/printer.js";
import { clean, renderEnd, renderRun } from "./tree/render.js";

/** Options of `troupe replay`. */
export interface ReplayOptions {
  readonly config?: string;
  readonly journal?: string;
  readonly json?: boolean;
  /** How many times faster than it was; as fast as possible when absent. */
  readonly speed?: number;
}

/** A silence that was longer is shortened to this, in milliseconds. */
const LONGEST_PAUSE_MS = 5_000;
const WIDTH = 100;

/** `troupe replay`: shows a thread, a run or a delegation from a journal on disk, which a host may be writing to meanwhile. */
export async function replayCommand(id: string, options: ReplayOptions): Promise<number> {
  const place = await placeOf(options);
  // What programs read, and what takes its time, is told piece by piece as it was.
  const exact = options.json === true || options.speed !== undefined;
  const limits = exact ? { mergeBeyond: Number.MAX_SAFE_INTEGER } : {};
  const journal = await (isRedis(place)
    ? createRedisJournal<ThreadEvent>({ url: place, ...limits })
    : createSqliteJournal<ThreadEvent>({ file: place, readOnly: true, ...limits }));
  // Waiting for the next entry's time is the only thing that goes on then.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  process.stdout.once("error", () => process.exit(EXIT.done));
  try {
    const [delegation] = (await journal.find?.({ delegationId: id })) ?? [];
    if (delegation !== undefined && !options.json) {
      for (const line of await auditRecord(journal, delegation)) process.stdout.write(`${line}\n`);
      return EXIT.done;
    }
    const entries = await entriesOf(journal, id, delegation);
    if (entries === undefined) {
      throw new TroupeError(
        "invalid_input",
        `There is no thread, run or delegation "${id}" in ${isRedis(place) ? "Redis" : place}. Their ids are in the console and in what "troupe run --json" prints; --journal names another journal.`,
      );
    }
    await show(paced(entries, options.speed), options);
    return EXIT.done;
  } finally {
    clearInterval(keepAlive);
    await journal.close();
  }
}

/** The path of a file, or the URL of a server. */
async function placeOf({ config: named, journal }: ReplayOptions): Promise<string> {
  if (journal !== undefined) {
    const place = isRedis(journal) ? journal : journalFile(journal, process.cwd());
    if (place === undefined) throw new ConfigError('--journal must be "sqlite:FILE" or "redis://…".');
    return place;
  }
  const config = named ?? findConfig(process.cwd());
  if (config === undefined) return resolve(DEFAULT_JOURNAL);
  const loaded = await loadConfig(config, process.env);
  const { journal: configured = `sqlite:${DEFAULT_JOURNAL}` } = loaded.config;
  const place = isRedis(configured) ? configured : journalFile(configured, loaded.folder);
  if (place !== undefined) return place;
  throw new ConfigError(
    'The config keeps its journal in memory. Set "journal": "sqlite:FILE" to have one to replay.',
  );
}

/** What belongs to an id, in order; `undefined` when nothing does. */
async function entriesOf(
  journal: Journal<ThreadEvent>,
  id: string,
  delegation: RecordedSpan | undefined,
): Promise<AsyncIterable<ThreadEntry> | undefined> {
  if (delegation !== undefined) {
    const isIts = (event: ThreadEntry["event"]) => "delegationId" in event && event.delegationId === id;
    return entriesIn(journal, delegation, ({ event }) => isIts(event));
  }
  const runs = (await journal.find?.({ runId: id })) ?? [];
  const run = runs.at(-1);
  if (run !== undefined) {
    if (runs.length > 1)
      console.error(
        `troupe: ${runs.length} threads have a run "${id}"; this is the one of "${threadIdOf(run.thread)}".`,
      );
    return entriesIn(journal, run, ({ runId }) => runId === id);
  }
  // A thread of a tenant is named with it, as the journal does.
  for (const thread of [threadKey({}, id), id]) {
    const [first] = (await journal.find?.({ thread })) ?? [];
    if (first !== undefined) return entriesIn(journal, { thread, first: first.first }, () => true);
  }
  return undefined;
}

async function* entriesIn(
  journal: Journal<ThreadEvent>,
  { thread, first, last }: Pick<RecordedSpan, "thread" | "first" | "last">,
  belongs: (entry: ThreadEntry) => boolean,
): AsyncGenerator<ThreadEntry> {
  for await (const batch of journal.read(thread, { after: String(Number(first) - 1) })) {
    for (const entry of batch) {
      if (belongs(entry)) yield entry;
      if (entry.cursor === last) return;
    }
  }
}

async function* paced(
  entries: AsyncIterable<ThreadEntry>,
  speed: number | undefined,
): AsyncGenerator<ThreadEntry> {
  let before: number | undefined;
  for await (const entry of entries) {
    const pause = before === undefined || speed === undefined ? 0 : (entry.time - before) / speed;
    if (pause > 0) await sleep(systemClock, Math.min(pause, LONGEST_PAUSE_MS));
    before = entry.time;
    yield entry;
  }
}

async function show(entries: AsyncIterable<ThreadEntry>, { json, speed }: ReplayOptions): Promise<void> {
  const thread = createThreadView();
  const encode = createEncoder("custom", { threadId: "", cancelledOutcome: false });
  const printers = new Map<string, Printer>();
  const asTree = !json && speed === undefined && process.stdout.isTTY;
  let open: RunView | undefined;
  for await (const entry of entries) {
    if (json) {
      new JsonPrinter().print(entry);
      continue;
    }
    const { runId, cursor, event } = entry;
    const frame = encode(entry);
    if (frame !== undefined) thread.apply({ cursor, event: frame });
    const printer = printers.get(runId) ?? new PlainPrinter();
    printers.set(runId, printer);
    if (event.type === "run.started") sayWhatWasAsked(event.messages);
    const run = thread.run(runId);
    if (run === undefined) continue;
    open = run;
    if (!asTree) printer.update(run, entry);
    if (!isRunTerminal(event)) continue;
    if (asTree) tree(run);
    else printer.end(run);
    open = undefined;
    printers.delete(runId);
  }
  if (open === undefined) return;
  if (asTree) tree(open);
  console.error("troupe: this is all so far; the run has no end yet.");
}

function sayWhatWasAsked(messages: readonly { readonly text: string }[]): void {
  for (const { text } of messages)
    for (const line of clean(text).split("\n")) process.stdout.write(`> ${line}\n`);
}

function tree(run: RunView): void {
  const width = Math.min(process.stdout.columns || WIDTH, WIDTH + 20);
  const options = { width, now: run.endedAt ?? run.startedAt, textLines: 40 };
  process.stdout.write(`${[...renderRun(run, options), ...renderEnd(run, width), ""].join("\n")}\n`);
}
