import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect } from "vitest";
import type { RemoteAgent, RemoteInput, RemoteSignal, RemoteTask } from "../../src/delegation/remote.js";
import { agui } from "../../src/remotes/agui/agui.js";
import type { AguiOptions } from "../../src/remotes/agui/options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A JSON object. */
export type Json = Record<string, unknown>;

/** A call that a server got. */
export interface Call {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Json;
  readonly response: ServerResponse;
  send(...events: Json[]): void;
}

/** A server whose answers are written by hand; it ends with the test. */
export async function serve(answer: (call: Call, number: number) => unknown) {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes) => (body += bytes));
    request.on("end", () => {
      const call: Call = {
        path: request.url ?? "",
        headers: request.headers,
        body: JSON.parse(body),
        response,
        send(...events) {
          if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
          for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
        },
      };
      void answer(call, calls.push(call));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`, calls };
}

/** A remote at it. */
export function remoteOf(url: string, more: Partial<AguiOptions> = {}): RemoteAgent {
  const agent = agui({ name: "painter", url, ...more });
  cleanups.push(() => agent.close());
  return agent;
}

export const never = () => new AbortController().signal;
export const TASK: RemoteTask = {
  delegationId: "del-1",
  messageId: "m-1",
  text: "Paint.",
  artifacts: [],
  metadata: {},
};
export const REFERENCE = { taskId: "del-1" };

/** All signals, each shown to `on` as it comes. */
export async function collect(
  signals: AsyncIterable<RemoteSignal>,
  on: (signal: RemoteSignal) => unknown = () => undefined,
): Promise<RemoteSignal[]> {
  const all: RemoteSignal[] = [];
  for await (const signal of signals) {
    all.push(signal);
    await on(signal);
  }
  return all;
}

export const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
export const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
export const text = (delta: string, messageId = "a") => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
export const accepted = { type: "accepted", taskId: "del-1", contextId: expect.any(String) };

/** What becomes of one whole stream. */
export async function run(
  events: Json[],
  more: Partial<AguiOptions> = {},
  answer?: RemoteInput,
): Promise<RemoteSignal[]> {
  const { url } = await serve((call, number) => {
    call.send(...(number === 1 ? events : [started, text("Thanks.", "b"), finished]));
    call.response.end();
  });
  const remote = remoteOf(url, more);
  return collect(remote.start(TASK, never()), async (signal) => {
    if (signal.type === "input_required" && answer) await remote.answer?.(REFERENCE, answer, never());
  });
}
