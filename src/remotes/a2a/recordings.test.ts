import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { RemoteSignal } from "../../delegation/remote.js";
import { a2a } from "./a2a.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Serves a recorded stream to the first call, and returns what the remote makes of it. */
async function replay(file: string, card: (url: string) => object) {
  const stream = await readFile(new URL(`./fixtures/${file}`, import.meta.url));
  const methods: string[] = [];
  const server = createServer((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify(card(url)));
    let body = "";
    request.on("data", (bytes) => (body += bytes));
    request.on("end", () => {
      methods.push(JSON.parse(body).method);
      response.writeHead(200, { "content-type": "text/event-stream" });
      // In pieces, so that lines and characters are cut.
      for (let offset = 0; offset < stream.length; offset += 97)
        response.write(stream.subarray(offset, offset + 97));
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agent = a2a({ name: "peer", agentCardUrl: `${url}/card.json` });
  cleanups.push(
    () => server.close(),
    () => server.closeAllConnections(),
    () => agent.close(),
  );
  const signals: RemoteSignal[] = [];
  const task = { delegationId: "d", messageId: "m", text: "hello", artifacts: [], metadata: {} };
  for await (const signal of agent.start(task, new AbortController().signal)) signals.push(signal);
  return {
    methods,
    signals,
    types: [...new Set(signals.map(({ type }) => type))],
    text: signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join(""),
  };
}

const modern = (url: string) => ({
  name: "Peer",
  capabilities: { streaming: true },
  supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
});
const legacy = (protocolVersion?: string) => (url: string) => ({
  name: "Peer",
  capabilities: { streaming: true },
  url,
  protocolVersion,
});

describe("recorded streams of foreign servers", () => {
  test("Python SDK 1.1.0, version 1.0", async () => {
    const { methods, text, types, signals } = await replay("python-1.1.0-v1.0.sse", modern);
    expect(methods).toEqual(["SendStreamingMessage"]);
    expect(text).toBe("piece 1 piece 2 piece 3 piece 4 ");
    expect(types).toEqual(["accepted", "status", "text", "completed"]);
    expect(signals.at(-1)).toEqual({ type: "completed" });
  });

  test("Mastra 1.71, version 1.0: its response.txt is what the agent says", async () => {
    const { text, types } = await replay("mastra-1.71-v1.0.sse", modern);
    expect(text).toBe('I will use a tool. The tool said: {"sum":3}.');
    expect(types).toEqual(["accepted", "status", "text", "completed"]);
  });

  test("Python SDK 0.3.26, version 0.3, CRLF", async () => {
    const { methods, text, signals } = await replay("python-0.3.26-v0.3.sse", legacy("0.3.0"));
    expect(methods).toEqual(["message/stream"]);
    expect(text).toBe("piece 1 piece 2 piece 3 piece 4 ");
    expect(signals.at(-1)?.type).toBe("completed");
  });

  test.each(["0.2.0", undefined])("Strands 1.19, whose card says version %j", async (version) => {
    const { methods, text, signals } = await replay("strands-1.19-v0.3.sse", legacy(version));
    expect(methods).toEqual(["message/stream"]);
    expect(text).not.toBe("");
    expect(signals.at(-1)?.type).toBe("completed");
  });
});
