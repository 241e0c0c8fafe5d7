import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { ArtifactCollector, createMemoryArtifactStore } from "../../src/delegation/artifacts.js";
import { createHost, type Host } from "../../src/host/host.js";
import { artifactResponse } from "../../src/host/routes/artifact-response.js";
import { FaceBench } from "../a2a-face/face-bench.js";
import { AppBench } from "../support/app-bench.js";
import { agentOf, FINISHED } from "../support/fake-agent.js";
import { FakeRemote } from "../support/fake-remote.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listening(): Promise<{ host: Host; url: string }> {
  const host = await createHost({
    agents: { fake: agentOf(() => FINISHED).agent },
    subAgents: [new FakeRemote()],
    a2a: { agents: { fake: true } },
  });
  closing.push(() => host.close());
  const { url } = await host.listen({ port: 0 });
  return { host, url };
}

/** What a server answers to a request written by hand. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(text));
    socket.setEncoding("utf8").on("data", (data) => {
      answer += data;
    });
    socket.on("error", reject).on("close", () => resolve(answer));
  });
}

describe("a name that a page bound to this machine", () => {
  it("is refused by every listener, whatever the route and method, before anything is looked at", async () => {
    const { host, url } = await listening();
    const status = (at: string, path: string, method: string, headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = httpRequest(new URL(path, at), { method, headers, agent: false }, (response) => {
          response.resume().on("end", () => resolve(response.statusCode));
        });
        asked.on("error", reject).end();
      });
    const ports = [
      ...[
        "/agents",
        "/threads",
        "/healthz",
        "/",
        "/a2a/fake",
        "/.well-known/agent-card.json",
        "/shared/x",
        "/none",
      ].map((path) => [url, path] as const),
      [host.mcpUrl, "/mcp"] as const,
    ];
    for (const [at, path] of ports)
      for (const method of ["GET", "POST", "DELETE"]) {
        for (const name of [
          "evil.example",
          `127.0.0.1.evil.example:${new URL(at).port}`,
          "localhost@evil.example",
        ])
          expect([path, method, name, await status(at, path, method, { host: name })]).toEqual([
            path,
            method,
            name,
            expect.toSatisfy((code) => code === 403 || code === 400),
          ]);
        const own = await status(at, path, method, { host: `localhost:${new URL(at).port}` });
        expect([path, own]).toEqual([path, expect.not.toSatisfy((code) => code === 403)]);
      }
  });

  it("is refused without a Host, with two, and in an absolute address", async () => {
    const { host, url } = await listening();
    for (const at of [url, host.mcpUrl]) {
      const port = Number(new URL(at).port);
      for (const head of [
        "GET /agents HTTP/1.1\r\n",
        "GET /agents HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1\r\n",
        "GET http://evil.example/agents HTTP/1.1\r\nHost: evil.example\r\n",
        "GET http://evil.example/agents HTTP/1.1\r\nHost: 127.0.0.1\r\n",
      ]) {
        const answer = await raw(port, `${head}Connection: close\r\n\r\n`);
        expect([head, answer.split("\r\n")[0]]).toEqual([head, expect.stringMatching(/ (?:400|401|403) /)]);
        expect(answer).not.toContain("subAgents");
      }
    }
  });
});

describe("a body that is packed", () => {
  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const)("%s is never unpacked: no bomb goes off", async (encoding, pack) => {
    const { host, url } = await listening();
    // That even a small one is not JSON shows that nothing was unpacked.
    const bomb = pack(Buffer.alloc(32_000_000, " "));
    expect(bomb.byteLength).toBeLessThan(100_000);
    const small = pack(
      JSON.stringify({ threadId: "t", runId: "r", messages: [{ id: "u", role: "user", content: "x" }] }),
    );
    for (const body of [bomb, small])
      for (const path of ["/agents/fake/run", "/runs/r/cancel", "/a2a/fake", "/a2a/fake/message:send"]) {
        const answer = await fetch(url + path, {
          method: "POST",
          headers: { "content-type": "application/json", "content-encoding": encoding, "a2a-version": "1.0" },
          body: new Uint8Array(body),
        });
        const text = await answer.text();
        expect([path, answer.status]).toEqual([path, 400]);
        expect(text).toMatch(/error/);
      }
    // Whoever has no token does not even get that far.
    const unknown = await fetch(host.mcpUrl, {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": encoding },
      body: new Uint8Array(bomb),
    });
    expect(unknown.status).toBe(401);
  });
});

describe("members and names that are those of every object", () => {
  const POLLUTING = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}';
  const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
  afterEach(() => expect(Object(undefined).polluted).toBeUndefined());

  it("change nothing in any body, and are refused where a body is taken as it is", async () => {
    const bench = new AppBench();
    for (const path of [
      "/runs/run-1/cancel",
      "/delegations/d/cancel",
      "/delegations/d/input",
      "/approvals/a",
    ]) {
      const answer = await bench.post(path, `${POLLUTING},"text":"x","decision":"approve"}`);
      expect([path, answer.status]).toEqual([path, 400]);
    }
    const input = await bench.post("/delegations/d/input", '{"data":{"a":{"__proto__":{"polluted":true}}}}');
    expect([input.status, await input.text()]).toEqual([400, expect.stringContaining("__proto__")]);
    const rounded = await bench.post("/delegations/d/input", '{"data":{"id":9007199254740993}}');
    expect([rounded.status, await rounded.text()]).toEqual([400, expect.stringContaining("2^53")]);
    const message = '{"id":"u","role":"user","content":"x","__proto__":{"polluted":true}}';
    const props =
      '"forwardedProps":{"__proto__":{"troupe":{"thread":{"mode":"resume"}}}},"state":{"id":9007199254740993}';
    const run = `${POLLUTING},"threadId":"t","runId":"r",${props},"messages":[${message}]}`;
    expect(await (await bench.post("/agents/quick/run", run)).text()).toContain("RUN_FINISHED");
    expect(bench.runs.find("/t", "r")?.status).toBe("finished");
  });

  it("are no agents, runs, delegations, files, threads or tenants, but can be threads' and runs' names", async () => {
    const bench = new AppBench();
    const { delegation_id: delegation } = await bench.delegate("/thread-1");
    for (const name of NAMES) {
      for (const path of [
        `/runs/${name}`,
        `/delegations/${name}`,
        `/delegations/${delegation}/artifacts/${name}`,
        `/shared/${name}`,
        `/${name}`,
      ])
        expect([path, (await bench.fetch(path)).status]).toEqual([path, 404]);
      expect((await bench.run(name)).status).toBe(404);
      const own = await bench.run("quick", { threadId: name, runId: name });
      expect(await own.text()).toContain("RUN_FINISHED");
      expect((await bench.fetch(`/runs/${name}`)).status).toBe(200);
      expect((await bench.fetch("/agents", { headers: { [name]: "x", accept: name } })).status).toBe(200);
    }
  });

  it("are nothing to the A2A face either", async () => {
    await using bench = await FaceBench.start();
    const parts = '"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]';
    const polluted = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{${parts},"metadata":{"__proto__":{"polluted":true}}}}}`;
    expect((await (await bench.post("", polluted)).json()).error).toBeDefined();
    for (const name of NAMES) {
      expect((await bench.fetch(`http://127.0.0.1:4100/a2a/${name}`, { method: "POST" })).status).toBe(404);
      expect((await bench.ask(name, {})).error).toMatchObject({ code: -32601 });
      expect((await bench.ask("GetTask", { id: name })).error).toMatchObject({ code: -32001 });
    }
    expect(bench.runs).toEqual([]);
  });

  it("an agent with such a name goes when the next config does not have it", async () => {
    const { agent } = agentOf(() => FINISHED);
    const host = await createHost({ agents: { constructor: agent } });
    closing.push(() => host.close());
    await host.run("constructor", "Hello").run.result;
    host.update({ agents: {} });
    expect(() => host.run("constructor", "Hello")).toThrow(/no agent/);
  });
});

describe("a file's name and type", () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      "../../etc/passwd",
      "..\\..\\boot.ini",
      "/etc/passwd",
      "C:\\x",
      "a\r\nSet-Cookie: x=1",
      'a"; filename="b.html',
      "a\u0000.html",
      "\u202egnp.exe",
      "\ud800",
      "..",
      ".htaccess",
      "%2e%2e%2f",
      "\u001b[2J",
    ),
    fc.string({ unit: "binary" }),
    fc
      .array(fc.constantFrom("..", "/", "\\", "\r", "\n", '"', ";", "é", "\ud800", "%"), { maxLength: 12 })
      .map((parts) => parts.join("")),
  );

  it("never leave their place in a header, an address or a folder", async () => {
    const policy = { maxArtifactBytes: 100, maxArtifacts: 100, allowRemoteArtifacts: true };
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (name, mimeType) => {
        const store = createMemoryArtifactStore();
        const bytes = Buffer.from("x");
        const made = await new ArtifactCollector("d", policy, store).add({
          id: "a",
          name,
          mimeType,
          mode: "replace",
          bytes,
          last: true,
        });
        const artifact = made?.artifact;
        expect(artifact?.name).not.toMatch(/[\\/\p{Cc}\p{Bidi_Control}]|^\.|^$/u);
        expect(artifact?.uri).toMatch(/^host:\/\/delegations\/d\/artifacts\/[^/\s]+$/);
        const stored = await store.get("d", "a");
        if (stored === undefined) throw new Error("not stored");
        const context = {
          body: (body: BodyInit, status: number, headers: HeadersInit) =>
            new Response(body, { status, headers }),
        };
        const { headers } = artifactResponse(
          context as unknown as Parameters<typeof artifactResponse>[0],
          stored,
        );
        expect(headers.get("content-disposition")).toMatch(
          /^attachment; filename="[\w.-]+"; filename\*=UTF-8''[\w.!~*()%-]+$/,
        );
        expect(headers.get("content-type")).toMatch(/^[\w.+-]+\/[\w.+-]+$/);
        expect([...headers.keys()].sort()).toEqual([
          "content-disposition",
          "content-security-policy",
          "content-type",
          "etag",
          "x-content-type-options",
        ]);
      }),
    );
  });

  it("no address of a file leads out of its delegation", async () => {
    const bench = new AppBench();
    const { delegation_id: id } = await bench.delegate("/thread-1");
    for (const name of [
      "..%2f..%2fetc%2fpasswd",
      "%2e%2e%2fa",
      "..%5ca",
      "a%00",
      "a%0d%0aSet-Cookie:%20x",
      ".%2fa",
      "a%2f..%2fa",
    ]) {
      const answer = await bench.fetch(`/delegations/${id}/artifacts/${name}`);
      expect([name, answer.status, answer.headers.get("set-cookie")]).toEqual([name, 404, null]);
    }
  });
});
