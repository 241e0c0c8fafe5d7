import { setTimeout as wait } from "node:timers/promises";
import {
  type Arrivals,
  arrivals,
  median,
  percentile,
  type Row,
  rateOf,
  row,
  type Started,
  start,
} from "./measure.js";
import { openRun } from "./tool-calls.js";

const RUNS = 20;
const EACH = 50;
const CROWD = RUNS * EACH;
const TASK = { deltas: 20, paceMs: 500 };
/** How long they talk until their memory is looked at, in milliseconds. */
const TALK_MS = 5_000;
/** Bytes that an idle delegation may take. */
const LIMIT = 50_000;

interface RelayEvent {
  readonly result: {
    readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text: string }[] } };
  };
}

interface HostEvent {
  readonly name?: string;
  readonly value?: { readonly delta?: string };
}

/** How many delegations talk at once, as fast as they can. */
const CROWDS = [10, 100, CROWD];
/** Deltas of all of them together. */
const DELTAS = 40_000;

/** A thousand delegations at once: what each takes, and how late text is while all of them talk; and what many get through. */
export async function crowdRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const [relay, host] = await Promise.all([start("./relay.ts", remote.url), start("./host.ts", remote.url)]);
  let crowds = 0;
  const through = (count: number, task: object) =>
    Promise.all(
      Array.from({ length: Math.ceil(count / EACH) }, () =>
        crowdedRun(host.url, `crowd-${++crowds}`, Math.min(count, EACH), task),
      ),
    );
  try {
    await through(EACH, { deltas: 100 });
    const idle = await bytesOf(host, "idle", { deltas: 1, hang: true });
    const active = await bytesOf(host, "active", { deltas: 100, paceMs: 500 });
    const direct = await throughRelay(relay.url, CROWD, TASK);
    const crowd = await through(CROWD, TASK);
    const rates: Row[] = [];
    for (const count of CROWDS) {
      const task = { deltas: DELTAS / count };
      const [troupe, plain] = [[] as number[], [] as number[]];
      for (let round = 0; round < 4; round++) {
        const relayed = rateOf(await throughRelay(relay.url, count, task));
        const delegated = rateOf(await through(count, task));
        // The first round warms up.
        if (round === 0) continue;
        plain.push(relayed);
        troupe.push(delegated);
      }
      const what = `text deltas a second, ${count.toLocaleString("en")} delegations at once`;
      rates.push(row(`crowd-rate-${count}`, what, "1/s", median(troupe), median(plain), "no-op relay"));
    }
    const p99 = (all: readonly Arrivals[]) =>
      percentile(
        all.flatMap(({ latencies }) => latencies),
        0.99,
      );
    return [
      row("crowd-idle-memory", "memory of an idle delegation", "B", idle, LIMIT, "the limit set for it"),
      row(
        "crowd-active-memory",
        "memory of one that talks, after ten words",
        "B",
        active,
        idle,
        "an idle one",
      ),
      row(
        "crowd-p99",
        "latency of a text delta, 1,000 delegations at once, p99",
        "ms",
        p99(crowd),
        p99(direct),
        "no-op relay",
      ),
      ...rates,
    ];
  } finally {
    for (const process of [host, relay, remote]) process.stop();
  }
}

function throughRelay(url: string, count: number, task: object): Promise<Arrivals[]> {
  const one = async () => {
    const response = await fetch(url, { method: "POST", body: JSON.stringify(task) });
    return arrivals(response, ({ result }: RelayEvent) => result.artifactUpdate?.artifact.parts[0]?.text);
  };
  return Promise.all(Array.from({ length: count }, one));
}

/** Bytes that one of a thousand delegations takes while all of them are at work. */
async function bytesOf(host: Started, name: string, task: object): Promise<number> {
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, index) => openRun(host.url, `${name}-${index}`, EACH)),
  );
  const before = await host.memory();
  const pending = runs.flatMap((run) => Array.from({ length: EACH }, () => run.call(task).catch(() => "")));
  for (const { runId } of runs) {
    for (;;) {
      const { delegations } = await (await fetch(`${host.url}/runs/${runId}/delegations`)).json();
      const isKnown = ({ remoteTaskId }: { remoteTaskId?: string }) => remoteTaskId !== undefined;
      if (delegations.filter(isKnown).length === EACH) break;
      await wait(50);
    }
  }
  await wait(TALK_MS);
  const after = await host.memory();
  await Promise.all(runs.map((run) => run.close()));
  await Promise.all(pending);
  return (after - before) / CROWD;
}

async function crowdedRun(url: string, runId: string, count: number, task: object): Promise<Arrivals> {
  const run = await openRun(url, runId, count);
  const reading = fetch(`${url}/threads/${runId}/events?subagents=custom`).then((response) =>
    arrivals(
      response,
      ({ name, value }: HostEvent) => (name === "subagent.text.delta" ? value?.delta : undefined),
      "RUN_FINISHED",
    ),
  );
  await Promise.all(Array.from({ length: count }, () => run.call(task)));
  await run.close();
  return reading;
}
