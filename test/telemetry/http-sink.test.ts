import { describe, expect, it } from "vitest";
import { type HttpSinkOptions, httpSink } from "../../src/telemetry/http-sink.js";
import { droppedEvent } from "../../src/telemetry/sideband-encoder.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { Collector } from "../support/collector.js";

const event = (count: number) => droppedEvent(count, 0);
const counts = (collector: Collector) =>
  collector.batches.map(({ events }) => events.map(({ artifact }) => artifact.parts[0].data.count));

async function bench(options: Partial<HttpSinkOptions> = {}) {
  const clock = new ManualClock();
  const collector = await Collector.start();
  const problems: string[] = [];
  const sink = httpSink({
    url: collector.url,
    clock,
    batchSize: 1,
    onProblem: (text) => problems.push(text),
    ...options,
  });
  const dispose = async () => {
    const closed = sink.close();
    await clock.advance(10_000);
    await closed;
    await collector[Symbol.asyncDispose]();
  };
  return { clock, collector, problems, sink, [Symbol.asyncDispose]: dispose };
}

describe("a collector", () => {
  it("gets JSON with the headers, and the credential in no body", async () => {
    const token = "tok-4f7a1c9be2";
    const headers = { Authorization: `Bearer ${token}`, "x-stage": "dropped" };
    await using one = await bench({ headers });
    const leaky = event(1);
    one.sink.send({ ...leaky, contextId: `${token} ${Buffer.from(token).toString("base64")}` });
    await expect.poll(() => one.collector.batches.length).toBe(1);
    const [batch] = one.collector.batches;
    expect(batch?.headers).toMatchObject({
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      "x-stage": "dropped",
    });
    // A header that is no credential leaves the text alone.
    expect(batch?.events).toEqual([{ ...leaky, contextId: "[redacted] [redacted]" }]);
  });

  it("that asks to come back gets the batch again, then", async () => {
    await using one = await bench();
    one.collector.answer = (response, index) =>
      index === 0 ? response.writeHead(429, { "retry-after": "7" }).end() : response.writeHead(200).end("{}");
    one.sink.send(event(1));
    await expect.poll(() => one.problems.length).toBe(1);
    await one.clock.advance(6_999);
    expect(one.collector.batches).toHaveLength(1);
    await one.clock.advance(1);
    await expect.poll(() => one.problems.at(-1)).toBe("Sideband: events are sent again.");
    expect(counts(one.collector)).toEqual([[1], [1]]);
  });

  it.each([500, 503, 408])("that fails with HTTP %i gets it again", async (status) => {
    await using one = await bench();
    one.collector.answer = (response, index) => response.writeHead(index === 0 ? status : 204).end();
    one.sink.send(event(1));
    await expect.poll(() => one.problems.length).toBe(1);
    await one.clock.advance(500);
    await expect.poll(() => one.problems.length).toBe(2);
    expect(counts(one.collector)).toEqual([[1], [1]]);
  });

  it.each([400, 401, 413])(
    "that refuses with HTTP %i is not asked again, and the next batch says so",
    async (status) => {
      await using one = await bench();
      one.collector.answer = (response, index) => response.writeHead(index === 0 ? status : 204).end();
      one.sink.send(event(7));
      await expect.poll(() => one.problems.length).toBe(1);
      await one.clock.advance(100_000);
      one.sink.send(event(8));
      await expect.poll(() => counts(one.collector)).toEqual([[7], [1], [8]]);
    },
  );

  it("that answers with a redirect is not followed: headers go to one origin alone", async () => {
    await using other = await Collector.start();
    await using one = await bench({ headers: { "x-api-key": "key-1234" } });
    one.collector.answer = (response) => response.writeHead(307, { location: other.url }).end();
    one.sink.send(event(1));
    await expect.poll(() => one.problems.length).toBe(1);
    expect(one.problems[0]).toContain("redirect (HTTP 307)");
    await one.clock.advance(100_000);
    expect(one.collector.batches).toHaveLength(1);
    expect(other.batches).toEqual([]);
  });

  it("that does not answer is given up after a while, and tried again", async () => {
    await using one = await bench({ timeoutMs: 2_000 });
    one.collector.answer = (response, index) => index > 0 && response.writeHead(204).end();
    one.sink.send(event(1));
    await expect.poll(() => one.collector.batches.length).toBe(1);
    await one.clock.advance(2_000);
    await expect.poll(() => one.problems.length).toBe(1);
    await one.clock.advance(500);
    await expect.poll(() => one.problems.length).toBe(2);
    expect(counts(one.collector)).toEqual([[1], [1]]);
  });

  it("that is gone is tried again; a problem names its address without the query", async () => {
    await using one = await bench();
    const { url } = one.collector;
    await using dead = await bench({ url: `${url.replace(/:\d+/, ":1")}?key=hidden`, retries: 1 });
    dead.sink.send(event(1));
    await expect.poll(() => dead.problems.length).toBe(1);
    expect(dead.problems[0]).toMatch(/No connection to http:\/\/127\.0\.0\.1:1\/collect \(ECONNREFUSED\)/);
  });

  it("keeps one connection for all batches", async () => {
    await using one = await bench();
    const ports = new Set<number | undefined>();
    one.collector.answer = (response) => {
      ports.add(response.socket?.remotePort);
      response.writeHead(200).end(`{"took":1}`);
    };
    for (let index = 1; index <= 5; index++) {
      one.sink.send(event(index));
      await expect.poll(() => one.collector.batches.length).toBe(index);
    }
    expect(ports.size).toBe(1);
  });
});

describe("a fetch of one's own", () => {
  it("is used instead, and its redirects are refused as well", async () => {
    const seen: RequestInit[] = [];
    const own: typeof fetch = async (_url, init = {}) => {
      seen.push(init);
      return new Response(null, { status: seen.length === 1 ? 302 : 204 });
    };
    await using one = await bench({ fetch: own, headers: { "x-api-key": "key-1234" } });
    one.sink.send(event(1));
    await expect.poll(() => one.problems.length).toBe(1);
    one.sink.send(event(2));
    await expect.poll(() => seen.length).toBeGreaterThan(1);
    expect(seen[0]).toMatchObject({ redirect: "manual", headers: { "x-api-key": "key-1234" } });
    expect(one.collector.batches).toEqual([]);
  });

  it("that quotes a credential in its error is not quoted", async () => {
    const own: typeof fetch = async () => {
      throw new TypeError("invalid value: key-1234");
    };
    await using one = await bench({ fetch: own, headers: { "x-api-key": "key-1234" }, retries: 0 });
    one.sink.send(event(1));
    await expect.poll(() => one.problems.length).toBe(1);
    expect(one.problems[0]).not.toContain("key-1234");
  });
});

it.each([
  ["a URL of another kind", { url: "ftp://127.0.0.1/x" }],
  ["a password in the URL", { url: "http://ada:secret-1@127.0.0.1/x" }],
  ["a header that cannot be sent", { url: "http://127.0.0.1/x", headers: { "x-api-key": "secret-1\nx: y" } }],
])("%s is refused, without the secret", (_what, options) => {
  try {
    httpSink(options);
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ code: "invalid_input" });
    expect(String(error)).not.toContain("secret-1");
  }
});
