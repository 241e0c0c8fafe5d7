import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { readSse } from "../dist/wire/sse-reader.js";

/** Durations of calls. */
export interface Calls {
  /** Milliseconds, a call each. */
  readonly durations: readonly number[];
  /** Milliseconds for all. */
  readonly all: number;
}

/** Makes `count` calls, `parallel` at a time. */
export async function measure(call: () => Promise<unknown>, count: number, parallel: number): Promise<Calls> {
  const durations: number[] = [];
  const timed = async () => {
    const started = performance.now();
    await call();
    durations.push(performance.now() - started);
  };
  const started = performance.now();
  const worker = async () => {
    for (let index = 0; index < count / parallel; index++) await timed();
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return { durations, all: performance.now() - started };
}

/** A run of Troupe whose tool calls this process makes. */
export interface OpenRun {
  readonly runId: string;
  /** Delegates a task and resolves with the result's text. */
  call(task: object): Promise<string>;
  close(): Promise<void>;
}

/** Opens a run that announces `calls` tool calls. */
export async function openRun(url: string, runId: string, calls: number): Promise<OpenRun> {
  const response = await fetch(`${url}/agents/caller/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: runId,
      runId,
      messages: [{ id: "m", role: "user", content: String(calls) }],
    }),
  });
  if (response.body === null) throw new Error("no body");
  for await (const { data } of readSse(response.body, { maxEventBytes: 2 ** 26 })) {
    const { name, value } = JSON.parse(data);
    if (name !== "notice" || value.code !== "bench") continue;
    const server = JSON.parse(value.message);
    const client = await connect(server.url, server.headers);
    let made = 0;
    return {
      runId,
      call: (task) => {
        const input = { agent: "remote", objective: JSON.stringify(task) };
        return callTool(client, "delegate_to_agent", input, { "claudecode/toolUseId": `toolu_${++made}` });
      },
      close: async () => {
        await fetch(`${url}/runs/${runId}/cancel`, { method: "POST" });
        await client.close();
      },
    };
  }
  throw new Error("the run ended before it began");
}

/** Connects to an MCP server over HTTP, in the newest era that it knows. */
export async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** Calls a tool; resolves with all its text. */
export async function callTool(
  client: Client,
  name: string,
  input: Record<string, unknown>,
  meta?: Record<string, unknown>,
): Promise<string> {
  const result = await client.callTool({
    name,
    arguments: input,
    ...(meta === undefined ? {} : { _meta: meta }),
  });
  const text = result.content.map((part) => ("text" in part ? part.text : "")).join("");
  if (result.isError) throw new Error(text);
  return text;
}
