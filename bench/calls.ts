import { Role } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import { startBridge } from "./bridge.js";
import { median, percentile, type Row, row, start } from "./measure.js";
import { startPeer } from "./peer.js";
import { type Calls, measure, openRun, WARM } from "./tool-calls.js";

const CALLS = 400;
const TASK = { deltas: 1 };

async function direct(url: string, parallel: number): Promise<Calls> {
  const card = await new DefaultAgentCardResolver().resolve(url);
  const client = await new ClientFactory(ClientFactoryOptions.default).createFromAgentCard(card);
  const part = {
    content: { $case: "text" as const, value: JSON.stringify(TASK) },
    metadata: undefined,
    filename: "",
    mediaType: "",
  };
  const call = async () => {
    const message = {
      messageId: crypto.randomUUID(),
      role: Role.ROLE_USER,
      taskId: "",
      contextId: "",
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      parts: [part],
    };
    for await (const _event of client.sendMessageStream({
      message,
      tenant: "",
      configuration: undefined,
      metadata: undefined,
    })) {
      // To the end.
    }
  };
  return measure(call, CALLS, parallel);
}

async function delegated(url: string, runId: string, parallel: number): Promise<Calls> {
  const run = await openRun(url, runId, CALLS + WARM);
  const calls = await measure(() => run.call(TASK), CALLS, parallel);
  await run.close();
  return calls;
}

/** What a delegation costs beyond calling the same remote directly, and what it costs through a bridge that neither streams nor records. */
export async function callRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const host = await start("./host.ts", remote.url);
  const peer = await startPeer(remote.url);
  const bridge = await startBridge(remote.url);
  const paths = {
    direct: (parallel: number) => direct(remote.url, parallel),
    troupe: (parallel: number, round: number) => delegated(host.url, `run-${parallel}-${round}`, parallel),
    bridge: (parallel: number) => measure(() => bridge.call(TASK), CALLS, parallel),
    peer: (parallel: number) => measure(() => peer.call(TASK), CALLS, parallel),
  };
  const none = () => ({
    direct: [] as number[],
    troupe: [] as number[],
    bridge: [] as number[],
    peer: [] as number[],
  });
  const [single, rates] = [none(), none()];
  try {
    for (let round = 0; round < 3; round++) {
      for (const path of ["direct", "troupe", "bridge", "peer"] as const) {
        single[path].push(...(await paths[path](1, round)).durations);
        rates[path].push(CALLS / ((await paths[path](50, round)).all / 1_000));
      }
    }
  } finally {
    await bridge.stop();
    await peer.stop();
    host.stop();
    remote.stop();
  }
  const what = "one delegation by MCP, from call to result";
  const sdk = "SDK client, direct";
  return [
    row("call-p50", `${what}, p50`, "ms", median(single.troupe), median(single.direct), sdk),
    row(
      "call-p99",
      `${what}, p99`,
      "ms",
      percentile(single.troupe, 0.99),
      percentile(single.direct, 0.99),
      sdk,
    ),
    row(
      "call-rate",
      "delegations a second, 50 at once",
      "1/s",
      median(rates.troupe),
      median(rates.direct),
      sdk,
    ),
    row(
      "call-p50-peer",
      `${what} on stdio, p50`,
      "ms",
      median(single.bridge),
      median(single.peer),
      peer.name,
    ),
    row(
      "call-rate-peer",
      "delegations a second on stdio, 50 at once",
      "1/s",
      median(rates.bridge),
      median(rates.peer),
      peer.name,
    ),
  ];
}
