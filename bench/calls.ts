import { startBridge } from "./bridge.js";
import { median, percentile, type Row, row, start } from "./measure.js";
import { startPeer } from "./peer.js";
import { sdkClient } from "./sdk-client.js";
import { type Calls, callTool, connect, measure, openRun } from "./tool-calls.js";

const CALLS = 400;
const ROUNDS = 5;
const PARALLEL = 50;
/** Calls of one run, at whose end a call must cost what it did at its beginning. */
const LONG = 24_000;
/** Calls of each path before it counts: programs that run for long are compiled by then. */
const WARM = 2_000;
const TASK = { deltas: 1 };

interface Path {
  /** Makes so many calls. */
  measure(count: number, parallel: number): Promise<Calls>;
  readonly durations: number[];
  readonly rates: number[];
}

function path(measured: Path["measure"]): Path {
  return { measure: measured, durations: [], rates: [] };
}

/** Calls by the MCP server of a run, each run with as many calls as it announced. */
function delegated(url: string): Path {
  let runs = 0;
  return path(async (count, parallel) => {
    const run = await openRun(url, `run-${++runs}`, count);
    const calls = await measure(() => run.call(TASK), count, parallel);
    await run.close();
    return calls;
  });
}

/** What a delegation costs beyond calling the same remote directly, and what it costs through a bridge that neither streams nor records. */
export async function callRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const [host, relay] = await Promise.all([
    start("./host.ts", remote.url),
    start("./mcp-relay.ts", remote.url),
  ]);
  const [peer, bridge] = await Promise.all([startPeer(remote.url), startBridge(remote.url)]);
  const ask = await sdkClient(remote.url);
  const client = await connect(relay.url);
  const input = { agent: "remote", objective: JSON.stringify(TASK) };
  const plain = (call: () => Promise<unknown>) => path((count, parallel) => measure(call, count, parallel));
  const paths = {
    direct: plain(() => ask(JSON.stringify(TASK))),
    relay: plain(() => callTool(client, "delegate_to_agent", input)),
    troupe: delegated(host.url),
    bridge: plain(() => bridge.call(TASK)),
    peer: plain(() => peer.call(TASK)),
  };
  const growth = { first: Number.NaN, last: Number.NaN };
  try {
    for (const each of Object.values(paths)) await each.measure(WARM, PARALLEL);
    for (let round = 0; round < ROUNDS; round++) {
      for (const each of Object.values(paths)) {
        each.durations.push(...(await each.measure(CALLS, 1)).durations);
        each.rates.push(CALLS / ((await each.measure(CALLS, PARALLEL)).all / 1_000));
      }
    }
    const rateOfMore = async () => CALLS / ((await paths.bridge.measure(CALLS * 5, PARALLEL)).all / 5_000);
    growth.first = await rateOfMore();
    await paths.bridge.measure(LONG, PARALLEL);
    growth.last = await rateOfMore();
  } finally {
    await client.close();
    await bridge.stop();
    await peer.stop();
    for (const process of [host, relay, remote]) process.stop();
  }
  const p50 = (name: keyof typeof paths) => median(paths[name].durations);
  const p99 = (name: keyof typeof paths) => percentile(paths[name].durations, 0.99);
  const rate = (name: keyof typeof paths) => median(paths[name].rates);
  const http = "one delegation by MCP over HTTP";
  const stdio = "one delegation by MCP on stdio";
  const many = `delegations a second, ${PARALLEL} at once`;
  const sdk = "SDK client, direct";
  const noOp = "MCP server of the SDK around it";
  return [
    row("call-p50", `${http}, p50`, "ms", p50("troupe"), p50("relay"), noOp),
    row("call-p99", `${http}, p99`, "ms", p99("troupe"), p99("relay"), noOp),
    row("call-rate", `${many}, over HTTP`, "1/s", rate("troupe"), rate("relay"), noOp),
    row("call-p50-direct", `${http}, p50`, "ms", p50("troupe"), p50("direct"), sdk),
    row("call-p50-stdio", `${stdio}, p50`, "ms", p50("bridge"), p50("direct"), sdk),
    row("call-rate-stdio", `${many}, on stdio`, "1/s", rate("bridge"), rate("direct"), sdk),
    row(
      "call-growth",
      `${many}, on stdio, after ${LONG.toLocaleString("en")} more in the same run`,
      "1/s",
      growth.last,
      growth.first,
      "before them",
    ),
    row("call-p50-peer", `${stdio}, p50`, "ms", p50("bridge"), p50("peer"), peer.name),
    row("call-rate-peer", `${many}, on stdio`, "1/s", rate("bridge"), rate("peer"), peer.name),
  ];
}
