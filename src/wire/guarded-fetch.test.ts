import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from "./guarded-fetch.js";
import { comparableOrigin, printableUrl } from "./origin.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function serve(listener: RequestListener): Promise<{ server: Server; url: string; port: number }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as AddressInfo;
  return { server, port, url: `http://127.0.0.1:${port}` };
}

function guarded(options: Partial<GuardedFetchOptions> & { origins: string[] }): GuardedFetch {
  const guard = createGuardedFetch({ clock: new ManualClock(), ...options });
  cleanups.push(() => guard.close());
  return guard;
}

function wireError(code: string, more: object = {}) {
  return expect.objectContaining({ name: "WireError", code, ...more });
}

describe("createGuardedFetch", () => {
  test("sends method, headers, body and credential to an allowed origin", async () => {
    const { url } = await serve((request, response) => {
      let body = "";
      request.on("data", (bytes) => (body += bytes));
      request.on("end", () => {
        const { authorization, "x-own": own } = request.headers;
        response.end(JSON.stringify({ method: request.method, body, authorization, own }));
      });
    });
    const { fetch } = guarded({ origins: [url], credential: () => ({ authorization: "Bearer right" }) });
    const response = await fetch(`${url}/path`, {
      method: "POST",
      body: "ä",
      headers: { "X-Own": "1", Authorization: "Bearer wrong" },
    });
    expect(response).toBeInstanceOf(Response);
    expect(await response.json()).toEqual({
      method: "POST",
      body: "ä",
      authorization: "Bearer right",
      own: "1",
    });
  });

  test("a credential that cannot be a header is refused without being quoted", async () => {
    const { url } = await serve((_request, response) => response.end());
    const { fetch } = guarded({ origins: [url], credential: () => ({ authorization: "t0ps3cret\n" + "x" }) });
    const error = await fetch(url).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain("t0ps3cret");
  });

  test("localhost, 127.0.0.1 and [::1] with one port are one origin; another port is another", async () => {
    const { url, port } = await serve((_request, response) => response.end("ok"));
    const { fetch } = guarded({ origins: [`http://[::1]:${port}/some/path`] });
    expect(await (await fetch(url)).text()).toBe("ok");
    await expect(fetch(`http://127.0.0.1:${port + 1}`)).rejects.toEqual(wireError("origin_refused"));
  });

  test("case 066: another origin is refused before the credential is even asked for", async () => {
    let requests = 0;
    let asked = 0;
    const { url } = await serve((_request, response) => {
      requests++;
      response.end();
    });
    const credential = () => {
      asked++;
      return { authorization: "Bearer t0ps3cret" };
    };
    const { fetch } = guarded({ origins: ["https://agent.example"], credential });
    for (const target of [
      url,
      "file:///etc/passwd",
      "https://user:pw@agent.example/",
      "https://agent.example.evil/",
    ]) {
      await expect(fetch(target)).rejects.toEqual(wireError("origin_refused"));
    }
    expect({ requests, asked }).toEqual({ requests: 0, asked: 0 });
  });

  test.each([301, 307, 308])("refuses a %i, so that neither body nor key goes elsewhere", async (status) => {
    const reached: string[] = [];
    const other = await serve((request, response) => {
      reached.push(request.url ?? "");
      response.end();
    });
    const { url } = await serve((_request, response) => {
      response.writeHead(status, { location: `${other.url}/stolen` }).end();
    });
    const { fetch } = guarded({ origins: [url, other.url], credential: () => ({ "x-api-key": "k" }) });
    await expect(fetch(url, { method: "POST", body: "prompt" })).rejects.toEqual(
      wireError("redirect_refused", { status }),
    );
    expect(reached).toEqual([]);
  });

  test.each([
    [401, "unauthorized", false],
    [403, "unauthorized", false],
    [429, "overloaded", true],
    [503, "overloaded", true],
    [500, "http_status", false],
    [404, "http_status", false],
  ])("HTTP %i becomes %s, whatever the body is", async (status, code, retryable) => {
    const { url } = await serve((_request, response) => {
      response.writeHead(status, { "content-type": "text/html" }).end("<h1>token=t0ps3cret</h1>");
    });
    const { fetch } = guarded({ origins: [url], credential: () => ({ authorization: "Bearer t0ps3cret" }) });
    const error = await fetch(`${url}/rpc?key=t0ps3cret`).catch((reason: unknown) => reason);
    expect(error).toEqual(wireError(code, { status, retryable }));
    expect(String(error)).toContain(`${url}/rpc`);
    expect(`${error} ${JSON.stringify(error)}`).not.toContain("t0ps3cret");
  });

  test("reads Retry-After as seconds and as a date, and believes no more than a day", async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const answers = ["7", "Thu, 01 Jan 2026 00:00:30 GMT", "99999999", "soon"];
    const { url } = await serve((_request, response) => {
      response.writeHead(503, { "retry-after": answers.shift() }).end();
    });
    const { fetch } = guarded({ origins: [url], clock });
    const error = (retryAfterMs?: number) => wireError("overloaded", { retryAfterMs });
    await expect(fetch(url)).rejects.toEqual(error(7000));
    await expect(fetch(url)).rejects.toEqual(error(30_000));
    await expect(fetch(url)).rejects.toEqual(error(86_400_000));
    await expect(fetch(url)).rejects.toEqual(error(undefined));
  });

  test("lets an error body through when the caller wants it, but never a 401", async () => {
    let status = 400;
    const { url } = await serve((_request, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end('{"error":1}');
    });
    const { fetch } = guarded({ origins: [url], acceptStatus: () => true });
    expect(await (await fetch(url)).json()).toEqual({ error: 1 });
    status = 401;
    await expect(fetch(url)).rejects.toEqual(wireError("unauthorized"));
  });

  test("passes a 304 on", async () => {
    const { url } = await serve((_request, response) => response.writeHead(304, { etag: '"1"' }).end());
    const response = await guarded({ origins: [url] }).fetch(url);
    expect([response.status, response.headers.get("etag")]).toEqual([304, '"1"']);
  });

  test("a closed port is unreachable and may be tried again", async () => {
    const { url, server } = await serve(() => undefined);
    server.close();
    await once(server, "close");
    await expect(guarded({ origins: [url] }).fetch(url)).rejects.toEqual(
      wireError("unreachable", { retryable: true }),
    );
  });

  test("a socket that is destroyed after the request is interrupted, which must not be repeated", async () => {
    const { url } = await serve((request) => request.socket.destroy());
    const error = await guarded({ origins: [url] })
      .fetch(url, { method: "POST", body: "x" })
      .catch((reason) => reason);
    expect(error).toEqual(wireError("interrupted", { retryable: false }));
  });

  test("caps a body after decompression", async () => {
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(200_000)));
    });
    const { fetch } = guarded({ origins: [url], maxResponseBytes: 100_000 });
    await expect((await fetch(url)).arrayBuffer()).rejects.toEqual(wireError("too_large"));
    const enough = guarded({ origins: [url], maxResponseBytes: 200_000 });
    expect((await (await enough.fetch(url)).arrayBuffer()).byteLength).toBe(200_000);
  });

  test("case 113: silence ends a call on our own clock, in the headers and in the body", async () => {
    const clock = new ManualClock();
    let answer = false;
    const { url, server } = await serve((_request, response) => {
      if (answer) response.writeHead(200).write("first");
    });
    const { fetch } = guarded({ origins: [url], clock, idleTimeoutMs: 600_000 });
    const early = fetch(url);
    early.catch(() => undefined);
    await once(server, "request");
    await clock.advance(599_999);
    await clock.advance(1);
    await expect(early).rejects.toEqual(wireError("silent"));

    answer = true;
    const reader = (await fetch(url)).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("first");
    // Nobody reads: that is not the server's silence.
    await clock.advance(3_600_000);
    const late = reader?.read();
    late?.catch(() => undefined);
    await clock.advance(600_000);
    await expect(late).rejects.toEqual(wireError("silent"));
    expect(clock.pending).toBe(0);
  });

  test("case 030: an abort closes the socket, before and after the headers, and leaves no listener", async () => {
    const { url, server } = await serve((request, response) => {
      if (request.url === "/stream") response.writeHead(200).write("x");
    });
    const { fetch } = guarded({ origins: [url] });
    const controller = new AbortController();
    const waiting = fetch(url, { signal: controller.signal });
    waiting.catch(() => undefined);
    const [request] = await once(server, "request");
    const streaming = await fetch(`${url}/stream`, { signal: controller.signal });
    const body = streaming.text();
    body.catch(() => undefined);
    const closed = once(request.socket, "close");
    controller.abort(new Error("stop"));
    await expect(waiting).rejects.toThrow("stop");
    await expect(body).rejects.toThrow("stop");
    await closed;
    await expect(fetch(url, { signal: controller.signal })).rejects.toThrow("stop");
  });

  test("what a server announces before its answer is no answer", async () => {
    const { url } = await serve((_request, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeEarlyHints({ link: "</more.css>; rel=preload" });
      response.writeHead(201, { "x-own": "1" }).end("made");
    });
    const response = await guarded({ origins: [url] }).fetch(url);
    expect([response.status, response.headers.get("x-own"), await response.text()]).toEqual([
      201,
      "1",
      "made",
    ]);
  });

  test("a body that nobody reads is not taken: the sender waits, and memory does not grow", async () => {
    let sent = 0;
    let waiting = false;
    const { url } = await serve((_request, response) => {
      const piece = Buffer.alloc(65_536);
      response.writeHead(200);
      const write = () => {
        for (waiting = false; !waiting && sent < 64 * 1_048_576; sent += piece.byteLength)
          waiting = !response.write(piece);
        if (waiting) response.once("drain", write);
        else response.end();
      };
      write();
    });
    const answer = await guarded({ origins: [url], maxResponseBytes: 128 * 1_048_576 }).request(url);
    const first = await answer.read();
    // The pipe fills up, and then nothing moves any more.
    let before = -1;
    await expect
      .poll(() => {
        const still = waiting && sent === before;
        before = sent;
        return still;
      })
      .toBe(true);
    expect(sent).toBeLessThan(32 * 1_048_576);
    let read = first?.byteLength ?? 0;
    for (let bytes = await answer.read(); bytes !== undefined; bytes = await answer.read())
      read += bytes.byteLength;
    expect(read).toBe(64 * 1_048_576);
  });

  test.each(["gzip", "deflate", "br"] as const)(
    "%s that was not asked for is undone; broken %s is a broken body",
    async (encoding) => {
      const packed = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }[encoding](
        "hello ".repeat(1_000),
      );
      let body = packed;
      const { url } = await serve((_request, response) => {
        response.writeHead(200, { "content-encoding": encoding }).end(body);
      });
      const { fetch } = guarded({ origins: [url] });
      expect(await (await fetch(url)).text()).toBe("hello ".repeat(1_000));
      body = packed.subarray(0, packed.length - 8);
      await expect((await fetch(url)).text()).rejects.toEqual(wireError("interrupted"));
    },
  );

  test("cancelling the body closes the socket", async () => {
    const { url, server } = await serve((_request, response) => response.writeHead(200).write("x"));
    const { fetch } = guarded({ origins: [url] });
    const arrived = once(server, "request");
    const response = await fetch(url);
    const [request] = await arrived;
    const closed = once(request.socket, "close");
    await response.body?.cancel();
    await closed;
  });

  test("close ends what is under way", async () => {
    const { url, server } = await serve(() => undefined);
    const guard = guarded({ origins: [url] });
    const waiting = guard.fetch(url);
    waiting.catch(() => undefined);
    await once(server, "request");
    await guard.close();
    await expect(waiting).rejects.toEqual(wireError("interrupted"));
  });

  test("frames an event stream anew: LF, whole events, no controls before the JSON, each below the cap", async () => {
    let text = ': hi\r\n\r\nid: 1\r\ndata: \u001e{"a":1}\r\n\r\nevent: e\rdata: [\rdata: ]\r\rdata: cut off';
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
    });
    const { fetch } = guarded({ origins: [url], maxEventBytes: 1000 });
    expect(await (await fetch(url)).text()).toBe('id: 1\ndata: {"a":1}\n\nevent: e\ndata: [\ndata: ]\n\n');
    text = `data: ok\n\ndata: ${"x".repeat(1000)}\n\n`;
    const reader = (await fetch(url)).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("data: ok\n\n");
    await expect(reader?.read()).rejects.toEqual(wireError("too_large"));
  });
});

describe("origins and URLs", () => {
  test("comparableOrigin tells schemes, hosts and ports apart", () => {
    expect(comparableOrigin("https://a.example:443/x?y")).toBe("https://a.example");
    expect(comparableOrigin("http://LOCALHOST/x")).toBe("http://localhost");
    expect(comparableOrigin("http://127.0.0.1:80")).toBe("http://localhost");
    expect(comparableOrigin("https://127.0.0.1:80")).toBe("https://localhost:80");
    for (const url of ["", "/relative", "ftp://a.example", "javascript:1", "http://u@a.example"]) {
      expect(comparableOrigin(url)).toBeUndefined();
    }
  });

  test("printableUrl shows no user, password, query or fragment", () => {
    expect(printableUrl("https://user:pw@a.example/p?token=1#x")).toBe("https://a.example/p");
    expect(printableUrl("nonsense")).toBe("(not a URL)");
  });
});

describe("an encoded body that nobody reads", () => {
  const broken: [string, RequestListener][] = [
    [
      "that goes on",
      (_request, response) => {
        response.writeHead(200, { "content-encoding": "gzip" });
        response.write(gzipSync("x").subarray(0, 8));
      },
    ],
    [
      "that is no gzip",
      (_request, response) => {
        response.writeHead(200, { "content-encoding": "gzip" });
        response.write("this is plain text");
      },
    ],
  ];

  // What a stream without listeners says ends the process.
  test.each(broken)("%s: whoever gives it up, or aborts it, hears of nothing", async (_what, listener) => {
    const uncaught: unknown[] = [];
    const hear = (error: unknown) => void uncaught.push(error);
    process.on("uncaughtException", hear);
    cleanups.push(() => process.off("uncaughtException", hear));
    const closed: string[] = [];
    const { url } = await serve((request, response) => {
      response.on("close", () => closed.push(request.url ?? ""));
      listener(request, response);
    });
    const client = guarded({ origins: [url] });
    (await client.request(`${url}/cancelled`)).cancel();
    const abort = new AbortController();
    await client.request(`${url}/aborted`, { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect.poll(() => closed.toSorted()).toEqual(["/aborted", "/cancelled"]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(uncaught).toEqual([]);
  });

  test("what follows the end of the content is left", async () => {
    let closed = false;
    const { url } = await serve((_request, response) => {
      response.on("close", () => (closed = true));
      response.writeHead(200, { "content-encoding": "br" });
      response.write(Buffer.concat([brotliCompressSync("all"), Buffer.alloc(100)]));
    });
    const answer = await guarded({ origins: [url] }).request(url);
    expect(await answer.text()).toBe("all");
    await expect.poll(() => closed).toBe(true);
  });
});

test("a body of very many small pieces comes whole and in its order", async () => {
  const pieces = Array.from({ length: 20_000 }, (_, index) => `${index},`);
  const { url } = await serve((_request, response) => {
    for (const piece of pieces) response.write(piece);
    response.end();
  });
  const answer = await guarded({ origins: [url] }).request(url);
  expect(await answer.text()).toBe(pieces.join(""));
});

describe("text of an answer", () => {
  test.each([200, 400])(
    "bytes that are not UTF-8 with HTTP %s: refused when they are the answer",
    async (status) => {
      const { url } = await serve((_request, response) => {
        response.writeHead(status);
        response.end(Buffer.from([0x7b, 0xff, 0x7d]));
      });
      const answer = await guarded({ origins: [url], acceptStatus: () => true }).request(url);
      if (status === 200) await expect(answer.text()).rejects.toEqual(wireError("malformed"));
      else expect(await answer.text()).toBe("{\ufffd}");
    },
  );
});

describe("silence, and a clock that is set or was asleep", () => {
  async function silent(jump: number) {
    const clock = new ManualClock();
    let offset = 0;
    const jumping = {
      now: () => clock.now() + offset,
      timer: (milliseconds: number, callback: () => void) => clock.timer(milliseconds, callback),
    };
    const { url } = await serve((_request, response) => void response.writeHead(200).write("x"));
    const answer = await guarded({ origins: [url], clock: jumping, idleTimeoutMs: 60_000 }).request(url);
    await answer.read();
    const read = answer.read().catch((error: unknown) => error);
    offset = jump;
    return { clock, read };
  }

  test("forwards: another whole time is waited", async () => {
    const { clock, read } = await silent(3_600_000);
    await clock.advance(60_000);
    expect(clock.pending).toBe(1);
    await clock.advance(60_000);
    expect(await read).toEqual(wireError("silent"));
  });

  test("backwards: it is not waited longer", async () => {
    const { clock, read } = await silent(-3_600_000);
    await clock.advance(120_000);
    expect(await read).toEqual(wireError("silent"));
  });
});
