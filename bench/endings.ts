import { setTimeout as wait } from "node:timers/promises";
import { type Bridge, BUDGET_MS, startBridge } from "./bridge.js";
import { percentile, type Row, row, start } from "./measure.js";
import { startPeer } from "./peer.js";
import { measure, openRun } from "./tool-calls.js";

const now = () => performance.timeOrigin + performance.now();
/** Between two words of a task. */
const PACE_MS = 100;
const ROUNDS = 30;
const CANCELS = 100;
/** Calls that are made before it counts. */
const WARM = 1_000;

/** Milliseconds from the last thing that a remote did, which its result tells, to now. */
function lag(result: string): number {
  const times = [...result.matchAll(/(\d{13}\.\d{3})\|/g)].map(([, time]) => Number(time));
  return now() - Math.max(...times) - PACE_MS;
}

/** How late each of many tasks is, that begin one after the other and are longer than `leastMs` by different times. */
async function lags(call: (task: object) => Promise<string>, leastMs: number): Promise<number[]> {
  const late: number[] = [];
  const one = async (index: number) => {
    await wait((index * 1_000) / ROUNDS);
    const deltas = leastMs / PACE_MS + (index % 10);
    late.push(lag(await call({ deltas, paceMs: PACE_MS })));
  };
  await Promise.all(Array.from({ length: ROUNDS }, (_, index) => one(index)));
  return late;
}

/** How late a result is, and how fast a cancel reaches the remote. */
export async function endRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const host = await start("./host.ts", remote.url);
  const [peer, bridge] = await Promise.all([startPeer(remote.url), startBridge(remote.url)]);
  const run = await openRun(host.url, "endings", CANCELS);
  try {
    const late = { short: new Map<Bridge, number[]>(), long: new Map<Bridge, number[]>() };
    for (const each of [bridge, peer]) {
      await measure(() => each.call({ deltas: 1 }), WARM, 10);
      late.short.set(each, await lags((task) => each.call(task), 500));
      late.long.set(each, await lags((task) => each.callAndAsk(task), BUDGET_MS + 500));
    }
    const compared = (name: string, what: string, part: number, lags: Map<Bridge, number[]>) => {
      const of = (each: Bridge) => percentile(lags.get(each) ?? [], part);
      return row(name, what, "ms", of(bridge), of(peer), peer.name);
    };
    const cancels = await cancelTimes(host.url, remote.url, run);
    const direct = await directCancelTimes(remote.url);
    const what = "from the remote's end to the tool's result";
    const long = `${what}, of a task that outlives its call`;
    return [
      compared("lag-p50-peer", `${what}, p50`, 0.5, late.short),
      compared("lag-p99-peer", `${what}, p99`, 0.99, late.short),
      compared("lag-long-p50-peer", `${long}, p50`, 0.5, late.long),
      compared("lag-long-p99-peer", `${long}, p99`, 0.99, late.long),
      row(
        "cancel-p99",
        "from a person's stop to the remote, p99",
        "ms",
        percentile(cancels, 0.99),
        percentile(direct, 0.99),
        "one POST to the remote",
      ),
    ];
  } finally {
    await run.close();
    await bridge.stop();
    await peer.stop();
    host.stop();
    remote.stop();
  }
}

async function cancelTimes(
  hostUrl: string,
  remoteUrl: string,
  run: Awaited<ReturnType<typeof openRun>>,
): Promise<number[]> {
  const pending = Array.from({ length: CANCELS }, () => run.call({ deltas: 1, hang: true }).catch(() => ""));
  const sent = new Map<string, number>();
  while (sent.size < CANCELS) {
    const { delegations } = await (await fetch(`${hostUrl}/runs/${run.runId}/delegations`)).json();
    for (const { delegationId, remoteTaskId, status } of delegations) {
      if (status !== "working" || remoteTaskId === undefined || sent.has(remoteTaskId)) continue;
      sent.set(remoteTaskId, now());
      await fetch(`${hostUrl}/delegations/${delegationId}/cancel`, { method: "POST" });
    }
  }
  await Promise.all(pending);
  const arrived: { taskId: string; at: number }[] = await (await fetch(`${remoteUrl}/cancels`)).json();
  return arrived.flatMap(({ taskId, at }) => (sent.has(taskId) ? [at - (sent.get(taskId) ?? at)] : []));
}

async function directCancelTimes(remoteUrl: string): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < CANCELS; index++) {
    const id = `direct-${index}`;
    const started = now();
    await fetch(remoteUrl, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "CancelTask", params: { id } }),
    });
    const arrived: { taskId: string; at: number }[] = await (await fetch(`${remoteUrl}/cancels`)).json();
    times.push((arrived.find(({ taskId }) => taskId === id)?.at ?? started) - started);
  }
  return times;
}
