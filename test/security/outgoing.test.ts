import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { RemoteSignal } from "../../src/delegation/remote.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import type { A2aOptions } from "../../src/remotes/a2a/options.js";
import { agui } from "../../src/remotes/agui/agui.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { createGuardedClient } from "../../src/wire/guarded-client.js";
import { MAX_CARD_BYTES } from "../../src/wire/limits.js";
import { FaceBench, userMessage } from "../a2a-face/face-bench.js";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    let body = "";
    request.on("data", (bytes) => {
      body += bytes;
    });
    request.on("end", () => answer(request, response, body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** What a remote would like to have called for it: it must never hear of anything. */
const trap = () => serve((_request, response) => response.end("inside"));

const task = { delegationId: "d", messageId: "m", text: "x", artifacts: [], metadata: { delegationId: "d" } };
const never = () => new AbortController().signal;

async function delegate(agentCardUrl: string, more: Partial<A2aOptions> = {}): Promise<RemoteSignal[]> {
  const agent = a2a({
    name: "research",
    agentCardUrl,
    auth: { mode: "bearer", token: "t0ps3cret-token" },
    ...more,
  });
  closing.push(() => agent.close());
  const signals: RemoteSignal[] = [];
  for await (const signal of agent.start(task, never())) signals.push(signal);
  return signals;
}

describe("an agent that wants the host to call something else", () => {
  const inside = (at: string) => [
    { url: `${at}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: `${at}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
  ];
  const CARDS: Readonly<Record<string, (at: string) => object>> = {
    supportedInterfaces: (at) => ({ supportedInterfaces: inside(at) }),
    "url of 0.3": (at) => ({ url: `${at}/rpc`, preferredTransport: "JSONRPC", protocolVersion: "0.3.0" }),
    "additionalInterfaces of 0.3": (at) => ({
      url: "grpc://nowhere",
      preferredTransport: "GRPC",
      protocolVersion: "0.3.0",
      additionalInterfaces: [{ url: `${at}/rpc`, transport: "JSONRPC" }],
    }),
    "a user name that looks like a host": (at) => ({
      supportedInterfaces: inside(at.replace("127.0.0.1", "agent.example@127.0.0.1")),
    }),
    "a file": () => ({ supportedInterfaces: inside("file:///etc/passwd") }),
    "no scheme": (at) => ({ supportedInterfaces: inside(at.replace("http:", "")) }),
    "a backslash": (at) => ({ supportedInterfaces: inside(at.replace("http://", "http:\\\\")) }),
  };

  it.each(Object.entries(CARDS))("by its card (%s): refused, and nothing is sent", async (_how, points) => {
    const secret = await trap();
    const agent = await serve((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({
          name: "Evil",
          capabilities: { streaming: true },
          iconUrl: `${secret.url}/icon`,
          documentationUrl: `${secret.url}/docs`,
          provider: { organization: "x", url: `${secret.url}/provider` },
          securitySchemes: { x: { type: "openIdConnect", openIdConnectUrl: `${secret.url}/oidc` } },
          ...points(secret.url),
        }),
      );
    });
    const signals = await delegate(`${agent.url}/.well-known/agent-card.json`).catch(
      (error: unknown) => error,
    );
    const told = JSON.stringify(signals, (_key, value) =>
      value instanceof Error ? { ...value, message: value.message } : value,
    );
    expect(told).toMatch(/policy_denied|capability_unsupported|agent_unavailable/);
    expect(told).not.toContain("t0ps3cret");
    expect(secret.asked).toEqual([]);
    expect(agent.asked.filter((line) => line.startsWith("POST"))).toEqual([]);
  });

  it("by a redirect of its card or of a call: not followed", async () => {
    const secret = await trap();
    for (const status of [301, 302, 303, 307, 308]) {
      const all = await serve((_request, response) =>
        response.writeHead(status, { location: `${secret.url}/x` }).end(),
      );
      await delegate(`${all.url}/.well-known/agent-card.json`).catch(() => undefined);
      const calls = await serve((request, response) => {
        if (request.method === "GET")
          response.end(
            JSON.stringify({ name: "Evil", capabilities: {}, supportedInterfaces: inside(calls.url) }),
          );
        else response.writeHead(status, { location: `${secret.url}/x` }).end();
      });
      await delegate(`${calls.url}/.well-known/agent-card.json`).catch(() => undefined);
      const painter = agui({ name: "painter", url: `${all.url}/agent` });
      closing.push(() => painter.close());
      for await (const _ of painter.start(task, never()));
      expect(calls.asked.some((line) => line.startsWith("POST"))).toBe(true);
    }
    expect(secret.asked).toEqual([]);
  });

  it("by addresses in its files, messages and status: named, never fetched", async () => {
    const secret = await trap();
    const file = { url: `${secret.url}/latest/meta-data`, mediaType: "text/plain", filename: "x" };
    const agent = await serve((request, response, body) => {
      if (request.method === "GET") {
        response.end(
          JSON.stringify({ name: "Evil", capabilities: {}, supportedInterfaces: inside(agent.url) }),
        );
        return;
      }
      const state = {
        state: "TASK_STATE_COMPLETED",
        message: { messageId: "m", role: "ROLE_AGENT", parts: [file, { text: "Done" }] },
      };
      const artifacts = [{ artifactId: "a", name: "x", parts: [file] }];
      const result = { task: { id: "t", contextId: "c", status: state, artifacts } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(body).id, result }));
    });
    const signals = await delegate(`${agent.url}/.well-known/agent-card.json`);
    const kept = signals.flatMap((signal) => (signal.type === "artifact" ? [signal.chunk] : []));
    expect(kept.length).toBeGreaterThan(0);
    expect(String(Buffer.from(kept[0]?.bytes ?? []))).toContain("/latest/meta-data");
    expect(signals.at(-1)?.type).toBe("completed");
    expect(secret.asked).toEqual([]);
  });
});

describe("a client that wants the host to call something", () => {
  it("by a push notification config, in any call of any version: nothing is called", async () => {
    const secret = await trap();
    await using bench = await FaceBench.start();
    const push = {
      id: "p",
      url: `${secret.url}/push`,
      token: "x",
      authentication: { scheme: "Bearer", schemes: ["Bearer"] },
    };
    for (const configuration of [
      { taskPushNotificationConfig: push },
      { pushNotificationConfig: push },
      { taskPushNotificationConfig: { pushNotificationConfig: push } },
    ]) {
      await bench.ask("SendMessage", {
        message: userMessage("x"),
        configuration: { returnImmediately: true, ...configuration },
      });
      for (const run of bench.runs) run.finish();
      await bench.clock.advance(0);
    }
    const { id } = await bench.send();
    for (const method of ["CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"])
      expect(
        (await bench.ask(method, { taskId: id, ...push, pushNotificationConfig: push })).error,
      ).toBeDefined();
    await bench.post(`/tasks/${id}/pushNotificationConfigs`, push);
    bench.run.finish();
    await bench.clock.advance(60_000);
    expect(secret.asked).toEqual([]);
  });

  it("by a file's address in a message: it is not fetched here", async () => {
    const secret = await trap();
    await using bench = await FaceBench.start();
    await bench.ask("SendMessage", {
      message: userMessage("x", {
        parts: [{ text: "x" }, { url: `${secret.url}/file`, mediaType: "text/plain" }],
      }),
      configuration: { returnImmediately: true },
    });
    await bench.clock.advance(1_000);
    expect(secret.asked).toEqual([]);
  });
});

describe("an answer that grows when it is unpacked", () => {
  const BOMB = Buffer.alloc(64_000_000);

  it.each([
    ["gzip", gzipSync(BOMB)],
    ["deflate", deflateSync(BOMB)],
    ["br", brotliCompressSync(BOMB)],
  ])("%s: is given up at the limit, and not unpacked to its end", async (encoding, packed) => {
    expect(packed.byteLength).toBeLessThan(100_000);
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { "content-encoding": encoding }).end(packed);
    });
    const client = createGuardedClient({
      clock: new ManualClock(),
      origins: [url],
      maxResponseBytes: 1_000_000,
    });
    closing.push(() => client.close());
    const answer = await client.request(url);
    let read = 0;
    const all = async () => {
      for (let bytes = await answer.read(); bytes !== undefined; bytes = await answer.read())
        read += bytes.byteLength;
    };
    await expect(all()).rejects.toMatchObject({ code: "too_large" });
    expect(read).toBeLessThanOrEqual(1_000_000);
  });

  it("packed twice: what cannot be read is not tried", async () => {
    const twice = gzipSync(gzipSync("{}"));
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip, gzip" }).end(twice);
    });
    const client = createGuardedClient({
      clock: new ManualClock(),
      origins: [url],
      maxResponseBytes: 1_000_000,
    });
    closing.push(() => client.close());
    await expect((await client.request(url)).text()).rejects.toMatchObject({ code: "malformed" });
  });

  it("as a card: ends as any card that is too large", async () => {
    const card = gzipSync(JSON.stringify({ name: "x", description: " ".repeat(MAX_CARD_BYTES) }));
    const agent = await serve((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" }).end(card);
    });
    const remote = a2a({ name: "research", agentCardUrl: `${agent.url}/.well-known/agent-card.json` });
    closing.push(() => remote.close());
    await expect(remote.describe(never())).rejects.toThrow(/more than|too large/i);
  });
});
