import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.js";
import { CardSource } from "./card-source.js";
import { Credentials } from "./credentials.js";
import type { A2aOptions } from "./options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe("CardSource", () => {
  async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    const requests: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      requests.push(request);
      answer(request, response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    cleanups.push(
      () => server.close(),
      () => server.closeAllConnections(),
    );
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, requests, paths: () => requests.map(({ url }) => url) };
  }

  function source(agentCardUrl: string, more: Partial<A2aOptions> = {}): CardSource {
    const options = { name: "research", agentCardUrl, clock: new ManualClock(), ...more };
    const cards = new CardSource(options, new Credentials(options));
    cleanups.push(() => cards.close());
    return cards;
  }

  const never = () => new AbortController().signal;
  const good = JSON.stringify({ name: "A", url: "/" });
  const at =
    (path: string, headers: Record<string, string> = {}) =>
    (request: IncomingMessage, response: ServerResponse) =>
      request.url === path
        ? response.writeHead(200, headers).end(good)
        : response.writeHead(404).end("nothing");

  test("a credential that never comes holds the card only as long as any fetch may take", async () => {
    const clock = new ManualClock();
    let asked = 0;
    const { url } = await serve((request, response) =>
      request.headers["x-key"] === "right" ? response.end(good) : response.writeHead(401).end(),
    );
    const cards = source(`${url}/card.json`, {
      clock,
      credential: () => (++asked === 1 ? new Promise(() => undefined) : { "x-key": "right" }),
    });
    const first = cards.get(never()).catch((error: unknown) => error);
    await expect.poll(() => asked).toBe(1);
    await clock.advance(5_000);
    expect(await first).toMatchObject({ code: "agent_unavailable", retryable: true });
    expect((await cards.get(never())).card.name).toBe("A");
  });

  test("case 061: announces its protocol version", async () => {
    const { url, requests } = await serve(at("/card.json"));
    await source(`${url}/card.json`).get(never());
    expect(requests[0]?.headers["a2a-version"]).toBe("1.0");
  });

  test("case 057: a base URL is tried at the well-known path and then at the old one", async () => {
    const { url, paths } = await serve(at("/.well-known/agent.json"));
    expect((await source(url).get(never())).url).toBe(`${url}/.well-known/agent.json`);
    expect(paths()).toEqual(["/.well-known/agent-card.json", "/.well-known/agent.json"]);
  });

  test("case 059: a full URL is taken as it is, query and all; a path may be the card or hold it", async () => {
    const { url, paths } = await serve(at("/a/b/.well-known/agent-card.json"));
    await source(`${url}/a/b/`).get(never());
    expect(paths()).toEqual(["/a/b/", "/a/b/.well-known/agent-card.json"]);
    const verbatim = await serve((_request, response) => response.end(good));
    for (const path of ["/x/card.json", "/.well-known/me/agent-card", "/a2a/card", "/card?agent=1"]) {
      await source(`${verbatim.url}${path}`).get(never());
    }
    expect(verbatim.paths()).toEqual([
      "/x/card.json",
      "/.well-known/me/agent-card",
      "/a2a/card",
      "/card?agent=1",
    ]);
  });

  test("case 059: the error names every URL that was tried and what came back", async () => {
    const { url } = await serve((request, response) => {
      if (request.url === "/a") response.end("<html>");
      else if (request.url?.endsWith("card.json")) response.writeHead(401).end();
      else response.end("{}");
    });
    await expect(source(`${url}/a`).get(never())).rejects.toMatchObject({
      code: "agent_unavailable",
      retryable: false,
      message: expect.stringMatching(
        /"research".*\/a: .*not JSON.*\/a\/\.well-known\/agent-card\.json: HTTP 401.*\/a\/\.well-known\/agent\.json: not an agent card.*agentCardUrl/s,
      ),
    });
  });

  test("case 070: asks without the credential first, and only then with it", async () => {
    const { url, requests } = await serve((request, response) => {
      if (request.headers["x-key"] === "k3y") response.end(good);
      else response.writeHead(401).end();
    });
    await source(`${url}/card.json`, { auth: { mode: "api_key", key: "k3y", headerName: "X-Key" } }).get(
      never(),
    );
    expect(requests.map(({ headers }) => headers["x-key"])).toEqual([undefined, "k3y"]);
  });

  test("a redirect of the card is not followed", async () => {
    const { url } = await serve((_request, response) =>
      response.writeHead(302, { location: "/other.json" }).end(),
    );
    await expect(source(`${url}/card.json`).get(never())).rejects.toThrow(/HTTP 302/);
  });

  test("keeps a card while it is fresh, then revalidates it with its ETag", async () => {
    const clock = new ManualClock();
    let etag = '"1"';
    const { url, requests } = await serve((request, response) => {
      if (request.headers["if-none-match"] === etag) response.writeHead(304, { etag }).end();
      else response.writeHead(200, { etag }).end(JSON.stringify({ name: etag, url: "/" }));
    });
    const cards = source(`${url}/card.json`, { clock, limits: { cardMaxAgeMs: 1000 } });
    const names = async () => (await cards.get(never())).card.name;
    expect([await names(), await names()]).toEqual(['"1"', '"1"']);
    expect(requests).toHaveLength(1);
    await clock.advance(1000);
    expect(await names()).toBe('"1"');
    expect(requests[1]?.headers["if-none-match"]).toBe('"1"');
    expect(await names()).toBe('"1"');
    expect(requests).toHaveLength(2);
    etag = '"2"';
    await clock.advance(1000);
    expect(await names()).toBe('"2"');
  });

  test.each([
    ["max-age=60", 59_000, 60_000],
    ["public, max-age=999999999", 299_000, 300_000],
  ])("believes Cache-Control: %s, within reason", async (cacheControl, fresh, stale) => {
    const clock = new ManualClock();
    const { url, requests } = await serve(at("/card.json", { "cache-control": cacheControl }));
    const cards = source(`${url}/card.json`, { clock });
    await cards.get(never());
    await clock.advance(fresh);
    await cards.get(never());
    expect(requests).toHaveLength(1);
    await clock.advance(stale - fresh);
    await cards.get(never());
    expect(requests).toHaveLength(2);
  });

  test("no-cache asks every time; overlapping calls share one fetch, and one caller's abort is only its own", async () => {
    let release = () => {};
    const { url, requests } = await serve((_request, response) => {
      release = () => response.writeHead(200, { "cache-control": "no-cache" }).end(good);
    });
    const cards = source(`${url}/card.json`);
    const controller = new AbortController();
    const first = cards.get(controller.signal);
    const second = cards.get(never());
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error("mine"));
    await expect(first).rejects.toThrow("mine");
    release();
    expect((await second).card.name).toBe("A");
    expect(requests).toHaveLength(1);
    const third = cards.get(never());
    while (requests.length === 1) await new Promise((resolve) => setImmediate(resolve));
    release();
    await third;
    await expect(cards.get(controller.signal)).rejects.toThrow("mine");
  });

  test("a server that does not answer is given up on our clock, for all tries together", async () => {
    const clock = new ManualClock();
    const { url, requests } = await serve(() => undefined);
    const waiting = source(url, { clock, limits: { cardTimeoutMs: 5000 } }).get(never());
    waiting.catch(() => undefined);
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(5000);
    await expect(waiting).rejects.toMatchObject({
      code: "agent_unavailable",
      retryable: true,
      message: expect.stringContaining("within 5000 ms"),
    });
    expect(requests).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  test("a card of more than half a megabyte is refused", async () => {
    const { url } = await serve((_request, response) => response.end(" ".repeat(600_000) + good));
    await expect(source(`${url}/card.json`).get(never())).rejects.toThrow(/more than 524288 bytes/);
  });

  test("an override that is a card's URL is where the card is fetched", async () => {
    const { url, paths } = await serve(at("/.well-known/agent-card.json"));
    const cards = source("https://research.example/", {
      endpointUrlOverride: `${url}/.well-known/agent-card.json`,
    });
    expect((await cards.get(never())).card.name).toBe("A");
    expect(paths()).toEqual(["/.well-known/agent-card.json"]);
  });
});
