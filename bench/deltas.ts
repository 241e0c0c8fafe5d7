import { type Arrivals, arrivals, median, percentile, type Row, rateOf, row, start } from "./measure.js";

let runs = 0;

interface RelayEvent {
  readonly result: {
    readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text: string }[] } };
  };
}

interface HostEvent {
  readonly name?: string;
  readonly value?: { readonly delta?: string };
}

async function throughRelay(url: string, task: object): Promise<Arrivals> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(task) });
  return arrivals(response, ({ result }: RelayEvent) => result.artifactUpdate?.artifact.parts[0]?.text);
}

async function throughTroupe(url: string, task: object): Promise<Arrivals> {
  const runId = `run-${++runs}`;
  const response = await fetch(`${url}/agents/claude/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: runId,
      runId,
      messages: [{ id: "m", role: "user", content: JSON.stringify(task) }],
    }),
  });
  return arrivals(response, ({ name, value }: HostEvent) =>
    name === "subagent.text.delta" ? value?.delta : undefined,
  );
}

/** What a delta costs on its way from the remote to the browser: latency at a calm pace, and the most per second. */
export async function deltaRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const [relay, host] = await Promise.all([start("./relay.ts", remote.url), start("./host.ts", remote.url)]);
  const paths = {
    relay: (task: object) => throughRelay(relay.url, task),
    troupe: (task: object) => throughTroupe(host.url, task),
  };
  const latencies = { relay: [] as number[], troupe: [] as number[] };
  const rates = { relay: [] as number[], troupe: [] as number[] };
  try {
    for (const path of ["relay", "troupe"] as const) await paths[path]({ deltas: 2_000 });
    // In turn, so that a change of the machine's speed meets both.
    for (let round = 0; round < 5; round++) {
      for (const path of ["relay", "troupe"] as const) {
        latencies[path].push(...(await paths[path]({ deltas: 400, paceMs: 2 })).latencies);
        rates[path].push(rateOf([await paths[path]({ deltas: 20_000 })]));
      }
    }
  } finally {
    for (const process of [host, relay, remote]) process.stop();
  }
  const against = "no-op relay";
  return [
    row(
      "delta-p50",
      "latency of a text delta, p50",
      "ms",
      median(latencies.troupe),
      median(latencies.relay),
      against,
    ),
    row(
      "delta-p99",
      "latency of a text delta, p99",
      "ms",
      percentile(latencies.troupe, 0.99),
      percentile(latencies.relay, 0.99),
      against,
    ),
    row(
      "delta-rate",
      "text deltas a second, one stream",
      "1/s",
      median(rates.troupe),
      median(rates.relay),
      against,
    ),
  ];
}
