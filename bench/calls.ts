import { Role } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { readSse } from "../dist/wire/sse-reader.js";
import { median, percentile, type Row, row, start } from "./measure.js";

const CALLS = 400;
const WARM = 100;
const TASK = '{"deltas":1}';

interface Calls {
  readonly durations: readonly number[];
  /** Milliseconds for all. */
  readonly all: number;
}

/** Makes the calls, after some to get warm. */
async function measure(call: () => Promise<void>, parallel: number): Promise<Calls> {
  const durations: number[] = [];
  const timed = async () => {
    const started = performance.now();
    await call();
    durations.push(performance.now() - started);
  };
  for (let index = 0; index < WARM; index++) await timed();
  durations.length = 0;
  const started = performance.now();
  const worker = async () => {
    for (let index = 0; index < CALLS / parallel; index++) await timed();
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return { durations, all: performance.now() - started };
}

async function direct(url: string, parallel: number): Promise<Calls> {
  const card = await new DefaultAgentCardResolver().resolve(url);
  const client = await new ClientFactory(ClientFactoryOptions.default).createFromAgentCard(card);
  return measure(async () => {
    const part = {
      content: { $case: "text" as const, value: TASK },
      metadata: undefined,
      filename: "",
      mediaType: "",
    };
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
  }, parallel);
}

async function delegated(url: string, runId: string, parallel: number): Promise<Calls> {
  const { server, close } = await openRun(url, runId);
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers } }),
  );
  let calls = 0;
  const measured = await measure(async () => {
    const input = { agent: "remote", objective: TASK };
    const meta = { "claudecode/toolUseId": `toolu_${++calls}` };
    const result = await client.callTool({ name: "delegate_to_agent", arguments: input, _meta: meta });
    if (result.isError) throw new Error(JSON.stringify(result.content));
  }, parallel);
  await client.close();
  await close();
  return measured;
}

/** Starts a run whose tool calls this process makes. */
async function openRun(url: string, runId: string) {
  const response = await fetch(`${url}/agents/caller/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: runId,
      runId,
      messages: [{ id: "m", role: "user", content: String(CALLS + WARM) }],
    }),
  });
  if (response.body === null) throw new Error("no body");
  for await (const { data } of readSse(response.body, { maxEventBytes: 2 ** 26 })) {
    const { name, value } = JSON.parse(data);
    if (name !== "notice" || value.code !== "bench") continue;
    const close = () => fetch(`${url}/runs/${runId}/cancel`, { method: "POST" });
    return { server: JSON.parse(value.message) as { url: string; headers: Record<string, string> }, close };
  }
  throw new Error("the run ended before it began");
}

/** What a delegation costs beyond calling the same remote directly with the SDK. */
export async function callRows(): Promise<Row[]> {
  const remote = await start("./remote.ts");
  const host = await start("./host.ts", remote.url);
  const sequential = { direct: [] as number[], troupe: [] as number[] };
  const rates = { direct: [] as number[], troupe: [] as number[] };
  try {
    for (let round = 0; round < 3; round++) {
      sequential.direct.push(...(await direct(remote.url, 1)).durations);
      sequential.troupe.push(...(await delegated(host.url, `one-${round}`, 1)).durations);
      rates.direct.push(CALLS / ((await direct(remote.url, 50)).all / 1_000));
      rates.troupe.push(CALLS / ((await delegated(host.url, `many-${round}`, 50)).all / 1_000));
    }
  } finally {
    host.stop();
    remote.stop();
  }
  const against = "SDK client, direct";
  return [
    row(
      "call-p50",
      "one delegation by MCP, from call to result, p50",
      "ms",
      median(sequential.troupe),
      median(sequential.direct),
      against,
    ),
    row(
      "call-p99",
      "one delegation by MCP, from call to result, p99",
      "ms",
      percentile(sequential.troupe, 0.99),
      percentile(sequential.direct, 0.99),
      against,
    ),
    row(
      "call-rate",
      "delegations a second, 50 at once",
      "1/s",
      median(rates.troupe),
      median(rates.direct),
      against,
    ),
  ];
}
