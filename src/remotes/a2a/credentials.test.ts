import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { RemoteSignal } from "../../delegation/remote.js";
import { HurriedClock } from "../../testing/a2a/hurried-clock.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { a2a } from "./a2a.js";
import { Credentials } from "./credentials.js";
import type { A2aAuth, A2aOptions } from "./options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Answer = (body: string, request: IncomingMessage, response: ServerResponse) => void;
async function serve(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes) => (body += bytes));
    request.on("end", () => answer(body, request, response));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const SECRET = "cl1ent s€cret/+";

/** A token server; each token is good for `calls` uses at the agent. */
async function tokenServer(answer?: Answer) {
  const asked: { authorization: string | undefined; form: URLSearchParams }[] = [];
  const url = await serve((body, request, response) => {
    asked.push({ authorization: request.headers.authorization, form: new URLSearchParams(body) });
    if (answer) return answer(body, request, response);
    response.end(
      JSON.stringify({ access_token: `t0ken-${asked.length}`, token_type: "Bearer", expires_in: 3600 }),
    );
  });
  const auth: A2aAuth = {
    mode: "oauth2",
    tokenUrl: `${url}/token`,
    clientId: "us",
    clientSecret: SECRET,
    scope: "a b",
  };
  return { auth, asked };
}

function credentials(more: Partial<A2aOptions>): Credentials {
  const made = new Credentials({
    name: "research",
    agentCardUrl: "http://a.example/",
    clock: new ManualClock(),
    ...more,
  });
  cleanups.push(() => made.close());
  return made;
}
const context = { agent: "research", delegationId: "d-1" };
const bearer = (made: Credentials) => made.use(context, async (headers) => headers.Authorization);

describe("OAuth 2 client credentials", () => {
  test("one token for all who wait, kept until shortly before it ends", async () => {
    const { auth, asked } = await tokenServer();
    const clock = new ManualClock();
    const made = credentials({ auth, clock });
    expect(await Promise.all([bearer(made), bearer(made), bearer(made)])).toEqual(
      Array.from({ length: 3 }, () => "Bearer t0ken-1"),
    );
    expect(asked).toHaveLength(1);
    expect(Object.fromEntries(asked[0]?.form ?? [])).toEqual({
      grant_type: "client_credentials",
      scope: "a b",
    });
    const pair = Buffer.from(asked[0]?.authorization?.slice(6) ?? "", "base64").toString();
    expect(pair.split(":").map((part) => decodeURIComponent(part.replaceAll("+", " ")))).toEqual([
      "us",
      SECRET,
    ]);
    await clock.advance(3_500_000);
    expect(await bearer(made)).toBe("Bearer t0ken-1");
    await clock.advance(80_000);
    expect(await bearer(made)).toBe("Bearer t0ken-2");
  });

  test("a server that takes the secret in the form gets it there", async () => {
    const { auth, asked } = await tokenServer((body, _request, response) => {
      if (!body.includes("client_secret")) return void response.writeHead(400).end("{}");
      response.end(JSON.stringify({ access_token: "in-form" }));
    });
    expect(await bearer(credentials({ auth }))).toBe("Bearer in-form");
    expect(asked[1]?.form.get("client_secret")).toBe(SECRET);
  });

  test.each<[string, Answer]>([
    ["a refusal", (_body, _request, response) => void response.writeHead(401).end(`bad ${SECRET}`)],
    ["no JSON", (_body, _request, response) => void response.end(SECRET)],
    ["no token", (_body, _request, response) => void response.end(JSON.stringify({ error: SECRET }))],
    [
      "a redirect",
      (_body, _request, response) => void response.writeHead(307, { location: "http://e.example/" }).end(),
    ],
  ])("%s is agent_unavailable, and shows no secret", async (_name, answer) => {
    const { auth } = await tokenServer(answer);
    const error = await bearer(credentials({ auth })).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "agent_unavailable" });
    expect(String(error)).not.toContain(SECRET);
  });

  test("a token that is refused in mid-life is replaced once, for every call of a task", async () => {
    const { auth, asked } = await tokenServer();
    let good = "Bearer t0ken-1";
    const calls: string[] = [];
    const url: string = await serve((body, request, response) => {
      if (request.method === "GET")
        return void response.end(
          JSON.stringify({
            name: "A",
            capabilities: { streaming: true },
            supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
          }),
        );
      const { id, method } = JSON.parse(body);
      calls.push(`${method} ${request.headers.authorization}`);
      if (request.headers.authorization !== good) return void response.writeHead(401).end();
      if (method === "SendStreamingMessage") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const result = { task: { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } } };
        response.end(`data: ${JSON.stringify({ id, result })}\n\n`);
        good = "Bearer t0ken-2";
        return;
      }
      const message = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "used t0ken-2 and t0ken-1" }] };
      response.end(
        JSON.stringify({ id, result: { id: "t", status: { state: "TASK_STATE_FAILED", message } } }),
      );
    });
    const agent = a2a({ name: "research", agentCardUrl: url, auth, clock: new HurriedClock() });
    cleanups.push(() => agent.close());
    const task = { delegationId: "d", messageId: "m", text: "x", artifacts: [], metadata: {} };
    const signals: RemoteSignal[] = [];
    for await (const signal of agent.start(task, new AbortController().signal)) signals.push(signal);
    expect(calls).toEqual([
      "SendStreamingMessage Bearer t0ken-1",
      "GetTask Bearer t0ken-1",
      "GetTask Bearer t0ken-2",
    ]);
    expect(asked).toHaveLength(2);
    // Tokens that were fetched are secrets like those that were configured.
    expect(signals.at(-1)).toMatchObject({ type: "failed", message: "used [redacted] and [redacted]" });
  });
});

describe("the host's own credential", () => {
  test("is asked for each run and agent, and once more after a refusal", async () => {
    const asked: unknown[] = [];
    const made = credentials({
      credential: async (asking) => {
        asked.push(asking);
        return { "X-Run": `secret-of-${asking.delegationId}-${asked.length}` };
      },
    });
    expect(made.present).toBe(true);
    const tries: unknown[] = [];
    const { WireError } = await import("../../wire/errors.js");
    const refused = new WireError("unauthorized", "no", { status: 401 });
    const using = made.use(context, async (headers) => {
      tries.push(headers);
      if (tries.length === 1) throw refused;
      return "done";
    });
    expect(await using).toBe("done");
    expect(tries).toEqual([{ "X-Run": "secret-of-d-1-1" }, { "X-Run": "secret-of-d-1-2" }]);
    expect(asked).toEqual([context, context]);
    expect(made.redact("it is secret-of-d-1-1 or secret-of-d-1-2")).toBe("it is [redacted] or [redacted]");
    // What is fixed is not tried again.
    let fixed = 0;
    const always = credentials({ auth: { mode: "bearer", token: "fixed-token" } });
    await expect(
      always.use(context, async () => {
        fixed++;
        throw refused;
      }),
    ).rejects.toBe(refused);
    expect(fixed).toBe(1);
  });
});

describe("what is taken out of a remote's words", () => {
  test("the entry's own secret is never forgotten, however many tokens and callbacks came after it", async () => {
    let count = 0;
    const credentials = new Credentials({
      name: "a",
      auth: { mode: "bearer", token: "entry-secret" },
      credential: () => ({ "X-Run": `run-value-${++count}` }),
    });
    for (let call = 0; call < 150; call++) await credentials.use({ agent: "a" }, async () => undefined);
    expect(credentials.redact("entry-secret run-value-150 run-value-1.")).toBe(
      "[redacted] [redacted] run-value-1.",
    );
  });

  test("a secret that is in use stays, whatever changes beside it", async () => {
    let count = 0;
    const credentials = new Credentials({
      name: "a",
      credential: () => ({ "X-Key": "lasting-key", "X-Request": `request-${++count}` }),
    });
    for (let call = 0; call < 150; call++) {
      await credentials.use({ agent: "a" }, async () => {
        expect(credentials.redact("<lasting-key>")).toBe("<[redacted]>");
      });
    }
  });
});
