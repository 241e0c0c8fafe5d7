import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/host/app.js";
import { threadKey } from "../../src/host/authoriser.js";
import type { RouteEnvironment } from "../../src/host/routes/environment.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { callsOn, FaceBench, userMessage } from "../a2a-face/face-bench.js";
import { AppBench, byHeader } from "../support/app-bench.js";

/** Every route of a host, as `METHOD path`; middleware is none. */
const ROUTES: readonly string[] = (() => {
  const face = { agents: ["helper"] };
  const environment = { clock: new ManualClock(), a2a: { face, challenge: "" } };
  const app = createApp(environment as unknown as RouteEnvironment, { hostnames: [], origins: [] });
  const all = app.routes.map(({ method, path }) => `${method} ${path}`);
  return [...new Set(all)].filter((route) => route !== "ALL /*").sort();
})();

/** Two tenants, of which `acme` has a thread with a run that asks for an approval, and a delegation with a file. */
class TwoTenants {
  readonly app = new AppBench(
    { authorise: byHeader },
    {
      play: async (sink, request) => {
        void sink.approve({ kind: "permission", title: "Secret?" }, new AbortController().signal);
        await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
        return { status: "cancelled" };
      },
    },
  );
  approval = "";
  delegation = "";

  static async start(): Promise<TwoTenants> {
    const two = new TwoTenants();
    await two.app.run("claude", { tenant: "acme" });
    await two.app.clock.advance(0);
    two.delegation = (await two.app.delegate(threadKey({ tenant: "acme" }, "thread-1"))).delegation_id;
    for await (const batch of two.app.journal.read(threadKey({ tenant: "acme" }, "thread-1"))) {
      for (const { event } of batch)
        if (event.type === "approval.requested") two.approval = event.approval.approvalId;
      if (two.approval !== "") break;
    }
    return two;
  }

  /** The same request for somebody's thing, and for one that nobody has. */
  async asked(method: string, path: string, body: unknown, tenant: string) {
    const unknown = path
      .replace("run-1", "none")
      .replace(this.delegation, "none")
      .replace(this.approval, "none");
    const answers: string[] = [];
    for (const at of [path, unknown]) {
      const answer =
        method === "GET" ? await this.app.fetch(at, { tenant }) : await this.app.post(at, body, { tenant });
      answers.push(`${answer.status} ${await answer.text()}`);
    }
    return { theirs: answers[0] ?? "", none: answers[1] };
  }

  /** What belongs to acme answers acme, and nobody else in any other way than what is not there. */
  async isolated(method: "GET" | "POST", path: string, body: unknown = {}): Promise<void> {
    for (const tenant of ["globex", "", "acm", "acme/", "ACME", "%61cme", "acme/thread-1", "*"]) {
      const { theirs, none } = await this.asked(method, path, body, tenant);
      expect([tenant, theirs]).toEqual([tenant, none]);
      expect(theirs).toMatch(/^40[1349] /);
    }
    expect(this.app.runs.byId("run-1", () => true)?.status).toBe("running");
    const { theirs } = await this.asked(method, path, body, "acme");
    expect(theirs).not.toMatch(/^40[134] /);
  }
}

const text = async (answer: Promise<Response>) => (await answer).text();

/** How each route keeps tenants apart. A route that is not here fails the test below. */
const ISOLATION: Readonly<Record<string, () => Promise<void>>> = {
  "GET /agents": async () => {
    const { app } = await TwoTenants.start();
    app.registry.replace([{ remote: app.remote, policy: { allowedTenants: ["acme"] } }]);
    expect(await text(app.fetch("/agents", { tenant: "acme" }))).toContain("research");
    expect(await text(app.fetch("/agents", { tenant: "globex" }))).not.toContain("research");
  },
  // The same three words for everybody.
  "GET /healthz": async () => {
    const { app } = await TwoTenants.start();
    expect(Object.keys(await (await app.fetch("/healthz")).json())).toEqual(["status", "version"]);
  },
  // Files of the package, the same for everybody, and for nobody without a credential.
  "GET /*": async () => {
    const { app } = await TwoTenants.start();
    expect((await app.fetch("/")).status).toBe(401);
    expect(await text(app.fetch("/", { tenant: "acme" }))).toBe(
      await text(app.fetch("/", { tenant: "globex" })),
    );
  },
  "GET /threads": async () => {
    const { app } = await TwoTenants.start();
    expect(await text(app.fetch("/threads", { tenant: "acme" }))).toContain("thread-1");
    expect(await (await app.fetch("/threads", { tenant: "globex" })).json()).toEqual({ threads: [] });
  },
  "POST /agents/:agent/run": async () => {
    const { app } = await TwoTenants.start();
    // The same ids begin a run of one's own; they do not join another's.
    const own = await text(app.run("quick", { tenant: "globex" }));
    expect(own).toContain("RUN_FINISHED");
    expect(own).not.toContain("Secret?");
    expect(app.runs.find(threadKey({ tenant: "acme" }, "thread-1"), "run-1")?.agent).toBe("claude");
    expect(app.runs.find(threadKey({ tenant: "globex" }, "thread-1"), "run-1")?.agent).toBe("quick");
  },
  "GET /threads/:threadId/events": async () => {
    const { app } = await TwoTenants.start();
    for (const [tenant, seen] of [
      ["acme", true],
      ["globex", false],
    ] as const) {
      const stream = await app.fetch("/threads/thread-1/events", { tenant });
      const reader = stream.body?.getReader();
      const first = new TextDecoder().decode((await reader?.read())?.value);
      const next = seen ? new TextDecoder().decode((await reader?.read())?.value) : "";
      expect((first + next).includes("RUN_STARTED"), tenant).toBe(seen);
      await reader?.cancel();
    }
  },
  "POST /threads/:threadId/connect": async () => {
    const { app } = await TwoTenants.start();
    expect(await text(app.post("/threads/thread-1/connect", {}, { tenant: "globex" }))).toBe(": open\n\n");
  },
  "GET /runs/:runId": async () => (await TwoTenants.start()).isolated("GET", "/runs/run-1"),
  "GET /runs/:runId/delegations": async () =>
    (await TwoTenants.start()).isolated("GET", "/runs/run-1/delegations"),
  "POST /runs/:runId/cancel": async () => (await TwoTenants.start()).isolated("POST", "/runs/run-1/cancel"),
  "GET /delegations/:id": async () => {
    const two = await TwoTenants.start();
    await two.isolated("GET", `/delegations/${two.delegation}`);
  },
  "POST /delegations/:id/cancel": async () => {
    const two = await TwoTenants.start();
    await two.isolated("POST", `/delegations/${two.delegation}/cancel`);
  },
  "POST /delegations/:id/input": async () => {
    const two = await TwoTenants.start();
    await two.isolated("POST", `/delegations/${two.delegation}/input`, { text: "yes" });
  },
  "GET /delegations/:id/artifacts/:artifactId": async () => {
    const two = await TwoTenants.start();
    await two.isolated("GET", `/delegations/${two.delegation}/artifacts/a`);
  },
  "POST /approvals/:id": async () => {
    const two = await TwoTenants.start();
    expect(two.approval).not.toBe("");
    await two.isolated("POST", `/approvals/${two.approval}`, { decision: "approve" });
  },
  // The link is the credential: who has none gets nothing, whoever it is.
  "GET /shared/:token": async () => {
    const two = await TwoTenants.start();
    for (const token of ["a", two.delegation, "run-1", "0".repeat(43)])
      for (const tenant of ["acme", "globex"])
        expect((await two.app.fetch(`/shared/${token}`, { tenant })).status).toBe(404);
  },
  "POST /a2a/:agent": async () => {
    await using bench = await FaceBench.start({ host: { authorise: byHeader } });
    const [acme, globex] = [{ authorization: "tenant acme" }, { authorization: "tenant globex" }];
    const { id } = await bench.send("Hello", {}, acme);
    for (const [method, params] of [...callsOn(id), ["GetTask", { id, tenant: "acme" }] as const])
      expect((await bench.ask(method, params, globex)).error, method).toMatchObject({ code: -32001 });
    expect((await bench.task(id, acme)).id).toBe(id);
  },
  "ALL /a2a/:agent/*": async () => {
    await using bench = await FaceBench.start({ host: { authorise: byHeader } });
    const as = (tenant: string) => ({ "a2a-version": "1.0", authorization: `tenant ${tenant}` });
    const { id } = await bench.send("Hello", {}, as("acme"));
    for (const prefix of ["", "/acme", "/acme%2F"]) {
      expect((await bench.fetch(`${prefix}/tasks/${id}`, { headers: as("globex") })).status).toBe(404);
      expect((await bench.fetch(`${prefix}/tasks/${id}:subscribe`, { headers: as("globex") })).status).toBe(
        404,
      );
      expect((await bench.post(`${prefix}/tasks/${id}:cancel`, {}, as("globex"))).status).toBe(404);
      const list = await bench.fetch(`${prefix}/tasks`, { headers: as("globex") });
      expect(await list.json()).toMatchObject({ tasks: [], totalSize: 0 });
    }
    expect((await bench.fetch(`/tasks/${id}`, { headers: as("acme") })).status).toBe(200);
  },
};
// Cards say the same to everybody.
for (const card of [
  "/a2a/:agent/.well-known/agent-card.json",
  "/a2a/:agent/.well-known/agent.json",
  "/.well-known/agent-card.json",
  "/.well-known/agent.json",
]) {
  (ISOLATION as Record<string, () => Promise<void>>)[`GET ${card}`] = async () => {
    await using bench = await FaceBench.start({ host: { authorise: byHeader } });
    await bench.send("Secret?", {}, { authorization: "tenant acme" });
    const at = `http://127.0.0.1:4100${card.replace(":agent", "helper")}`;
    const cards = [{}, { authorization: "tenant acme" }, { authorization: "tenant globex" }].map((headers) =>
      text(bench.fetch(at, { headers: headers as Record<string, string> })),
    );
    const [open, ...others] = await Promise.all(cards);
    expect(others).toEqual([open, open]);
    expect(open).toContain("Helper");
  };
}

describe("every route of a host", () => {
  it("is known here: one that is added needs a test of its own", () => {
    expect(ROUTES).toEqual(Object.keys(ISOLATION).sort());
    expect(ROUTES.length).toBeGreaterThan(20);
  });

  it("comes from a file that the app takes in", () => {
    const app = readFileSync("src/host/app.ts", "utf8");
    const folder = "src/host/routes";
    const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
    const functions = files.flatMap((file) =>
      [...readFileSync(`${folder}/${file}`, "utf8").matchAll(/export function (\w+Routes)\(/g)].map(
        ([, name = ""]) => name,
      ),
    );
    expect(functions.length).toBeGreaterThan(5);
    for (const name of functions) expect(app).toContain(`  ${name}(app`);
  });

  it.each(Object.entries(ISOLATION))("%s keeps tenants apart", async (_route, check) => check());

  it("is closed without a credential, but for health, cards and links that are one", async () => {
    const open = new Set<string>();
    await using bench = await FaceBench.start({ host: { authorise: byHeader } });
    for (const route of ROUTES) {
      const { method, path } = requestOf(route);
      const answer = await bench.fetch(`http://127.0.0.1:4100${path}`, {
        method,
        ...(method === "GET" ? {} : { headers: { "content-type": "application/json" }, body: "{}" }),
      });
      if (answer.status !== 401) open.add(route);
    }
    expect([...open].filter((route) => !route.includes(".well-known"))).toEqual([
      "GET /healthz",
      "GET /shared/:token",
    ]);
  });
});

describe("a page of another origin", () => {
  /** Everything that can change something. */
  const CHANGING = ROUTES.filter((route) => !route.startsWith("GET "));

  it.each(CHANGING)("%s: is refused whatever it sends, also with the person's credential", async (route) => {
    await using bench = await FaceBench.start({ host: { authorise: byHeader } });
    const { path } = requestOf(route);
    for (const method of route.startsWith("ALL ") ? ["POST", "DELETE", "PUT", "PATCH"] : ["POST"]) {
      for (const origin of [
        "https://evil.example",
        "null",
        "http://127.0.0.1:9",
        "https://127.0.0.1.evil.example",
      ])
        for (const type of [
          "application/json",
          "text/plain",
          "application/x-www-form-urlencoded",
          undefined,
        ]) {
          const headers = { origin, authorization: "tenant acme", ...(type && { "content-type": type }) };
          const answer = await bench.fetch(`http://127.0.0.1:4100${path}`, {
            method,
            headers,
            ...(type === undefined ? {} : { body: "{}" }),
          });
          expect([method, origin, type, answer.status]).toEqual([method, origin, type, 403]);
          expect(answer.headers.get("access-control-allow-origin")).toBeNull();
        }
    }
    expect(bench.runs).toEqual([]);
  });

  it.each(CHANGING)(
    "%s: what a form can send is not taken from a browser without an Origin either",
    async (route) => {
      await using bench = await FaceBench.start();
      const { path } = requestOf(route);
      const run = { threadId: "t", runId: "r", messages: [{ id: "u", role: "user", content: "x" }] };
      const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: userMessage("x") } };
      for (const body of [run, call, { message: userMessage("x") }, {}])
        for (const type of [
          "text/plain",
          "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x",
        ]) {
          const answer = await bench.fetch(`http://127.0.0.1:4100${path}`, {
            method: "POST",
            headers: { "content-type": type },
            body: JSON.stringify(body),
          });
          // JSON-RPC tells its errors with 200.
          if (answer.status === 200)
            expect(await answer.json()).toMatchObject({ error: { code: expect.any(Number) } });
          else expect(answer.status).toBeGreaterThanOrEqual(400);
        }
      expect(bench.runs).toEqual([]);
    },
  );
});

/** A request that reaches a route. */
function requestOf(route: string): { readonly method: string; readonly path: string } {
  const [method = "", path = ""] = route.split(" ");
  const filled = path
    .replace(":agent/*", "helper/message:send")
    .replace(":agent", "helper")
    .replace(/^\/\*$/, "/")
    .replace(/:\w+Id|:id|:token/g, "x");
  return { method: method === "ALL" ? "POST" : method, path: filled };
}

describe("a body that is too large", () => {
  it.each(ROUTES.filter((route) => !route.startsWith("GET ")))(
    "%s: is refused, announced or not",
    async (route) => {
      await using bench = await FaceBench.start();
      const { path } = requestOf(route);
      const pieces = () => {
        let left = 9;
        return new ReadableStream<Uint8Array>({
          pull: (target) =>
            left-- > 0 ? target.enqueue(new Uint8Array(1_048_576).fill(0x20)) : target.close(),
        });
      };
      for (const body of [" ".repeat(8 * 1_048_576 + 1), pieces()]) {
        const answer = await bench.fetch(`http://127.0.0.1:4100${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", "a2a-version": "1.0" },
          body,
          duplex: "half",
        } as RequestInit);
        expect(answer.status).toBe(413);
      }
      expect(bench.runs).toEqual([]);
    },
  );
});
