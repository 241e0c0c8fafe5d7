import { startBridge } from "./bridge.js";
import { percentile, type Row, row, start } from "./measure.js";
import { startPeer } from "./peer.js";
import { openRun } from "./tool-calls.js";

const now = () => performance.timeOrigin + performance.now();
/** A task that takes a while, as most do: 1.2 s. */
const SLOW = { deltas: 12, paceMs: 100 };
const ROUNDS = 30;
const CANCELS = 100;

/** Milliseconds from the last thing that a remote did, which its result tells, to now. */
function lag(result: string): number {
  const times = [...result.matchAll(/(\d{13}\.\d{3})\|/g)].map(([, time]) => Number(time));
  return now() - Math.max(...times) - SLOW.paceMs;
}

/** How late a result is, and how fast a cancel reaches the remote. */
export async function endRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const host = await start("./host.ts", remote.url);
  const peer = await startPeer(remote.url);
  const bridge = await startBridge(remote.url);
  const run = await openRun(host.url, "endings", ROUNDS + CANCELS);
  try {
    const lags = { troupe: [] as number[], peer: [] as number[] };
    await Promise.all(
      Array.from({ length: ROUNDS }, async () => lags.troupe.push(lag(await bridge.call(SLOW)))),
    );
    await Promise.all(Array.from({ length: ROUNDS }, async () => lags.peer.push(lag(await peer.call(SLOW)))));
    const cancels = await cancelTimes(host.url, remote.url, run);
    const direct = await directCancelTimes(remote.url);
    const name = "from the remote's end to the tool's result";
    return [
      row(
        "lag-p50-peer",
        `${name}, p50`,
        "ms",
        percentile(lags.troupe, 0.5),
        percentile(lags.peer, 0.5),
        peer.name,
      ),
      row(
        "lag-p99-peer",
        `${name}, p99`,
        "ms",
        percentile(lags.troupe, 0.99),
        percentile(lags.peer, 0.99),
        peer.name,
      ),
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
