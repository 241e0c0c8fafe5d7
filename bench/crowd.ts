import { setTimeout as wait } from "node:timers/promises";
import { type Arrivals, arrivals, percentile, type Row, row, start } from "./measure.js";
import { openRun } from "./tool-calls.js";

const RUNS = 20;
const EACH = 50;
const CROWD = RUNS * EACH;
const TASK = { deltas: 20, paceMs: 500 };
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

/** A thousand delegations at once: what each takes while nothing happens, and how late text is while all of them talk. */
export async function crowdRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const [relay, host] = await Promise.all([start("./relay.ts", remote.url), start("./host.ts", remote.url)]);
  try {
    const idle = await idleBytes(host);
    const direct = await Promise.all(
      Array.from({ length: CROWD }, async () => {
        const response = await fetch(relay.url, { method: "POST", body: JSON.stringify(TASK) });
        return arrivals(response, ({ result }: RelayEvent) => result.artifactUpdate?.artifact.parts[0]?.text);
      }),
    );
    const through = await Promise.all(
      Array.from({ length: RUNS }, (_, index) => crowdedRun(host.url, `crowd-${index}`)),
    );
    const p99 = (all: readonly Arrivals[]) =>
      percentile(
        all.flatMap(({ latencies }) => latencies),
        0.99,
      );
    return [
      row("crowd-idle-memory", "memory of an idle delegation", "B", idle, LIMIT, "the limit set for it"),
      row(
        "crowd-p99",
        "latency of a text delta, 1,000 delegations at once, p99",
        "ms",
        p99(through),
        p99(direct),
        "no-op relay",
      ),
    ];
  } finally {
    for (const process of [host, relay, remote]) process.stop();
  }
}

async function idleBytes(host: Awaited<ReturnType<typeof start>>): Promise<number> {
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, index) => openRun(host.url, `idle-${index}`, EACH)),
  );
  const before = await host.memory();
  const pending = runs.flatMap((run) =>
    Array.from({ length: EACH }, () => run.call({ deltas: 1, hang: true }).catch(() => "")),
  );
  for (const { runId } of runs) {
    for (;;) {
      const { delegations } = await (await fetch(`${host.url}/runs/${runId}/delegations`)).json();
      if (
        delegations.filter(({ remoteTaskId }: { remoteTaskId?: string }) => remoteTaskId !== undefined)
          .length === EACH
      )
        break;
      await wait(50);
    }
  }
  const after = await host.memory();
  await Promise.all(runs.map((run) => run.close()));
  await Promise.all(pending);
  return (after - before) / CROWD;
}

async function crowdedRun(url: string, runId: string): Promise<Arrivals> {
  const run = await openRun(url, runId, EACH);
  const reading = fetch(`${url}/threads/${runId}/events?subagents=custom`).then((response) =>
    arrivals(
      response,
      ({ name, value }: HostEvent) => (name === "subagent.text.delta" ? value?.delta : undefined),
      "RUN_FINISHED",
    ),
  );
  await Promise.all(Array.from({ length: EACH }, () => run.call(TASK)));
  await run.close();
  return reading;
}
