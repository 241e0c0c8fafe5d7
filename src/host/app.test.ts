import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AppBench, byHeader } from "../../test/support/app-bench.js";
import { FINISHED } from "../../test/support/fake-agent.js";
import { isLoopback } from "./app.js";
import { owns, threadIdOf, threadKey } from "./authoriser.js";

const JSON_ERROR = { error: { code: expect.any(String), message: expect.any(String) } };

describe("who the host talks to", () => {
  it("a name that is not its own is refused: no page may rebind its own name to this host", async () => {
    const bench = new AppBench();
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "192.168.1.5",
      "0.0.0.0",
    ]) {
      const answer = await bench.fetch(`http://${host}:4100/agents`);
      expect([host, answer.status]).toEqual([host, 403]);
      expect(await answer.json()).toEqual(JSON_ERROR);
    }
    for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"])
      expect((await bench.fetch(`http://${host}:4100/agents`)).status).toBe(200);
  });

  it("names can be added, and an authoriser makes names unnecessary", async () => {
    expect((await new AppBench({ hostnames: ["box.local"] }).fetch("http://box.local/agents")).status).toBe(
      200,
    );
    expect(
      (await new AppBench({ authorise: byHeader }).fetch("http://any.example/agents", { tenant: "a" }))
        .status,
    ).toBe(200);
  });

  it("a page of another origin is refused, its own and the configured ones are not", async () => {
    const bench = new AppBench({ origins: ["https://app.example"] });
    const from = (origin: string, path = "/agents") => bench.fetch(path, { headers: { origin } });
    for (const origin of [
      "https://evil.example",
      "null",
      "http://127.0.0.1:9999",
      "https://app.example.evil.example",
      "http://app.example",
    ])
      expect([origin, (await from(origin)).status]).toEqual([origin, 403]);
    expect((await from("http://127.0.0.1:4100")).status).toBe(200);
    const allowed = await from("https://app.example");
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect((await bench.run("quick", { headers: { origin: "https://evil.example" } })).status).toBe(403);
    expect(bench.runs.byId("run-1", () => true)).toBeUndefined();
  });

  it("without a credential there is 401 for every route but the health check", async () => {
    const bench = new AppBench({ authorise: byHeader });
    for (const path of [
      "/",
      "/agents",
      "/runs/run-1",
      "/runs/run-1/delegations",
      "/delegations/d",
      "/delegations/d/artifacts/a",
      "/threads/t/events",
      "/nothing",
    ])
      expect([path, (await bench.fetch(path)).status]).toEqual([path, 401]);
    for (const path of [
      "/agents/claude/run",
      "/runs/run-1/cancel",
      "/delegations/d/cancel",
      "/approvals/a",
      "/threads/t/connect",
    ])
      expect([path, (await bench.post(path)).status]).toEqual([path, 401]);
    expect((await bench.fetch("/healthz")).status).toBe(200);
  });
});

describe("what the host takes", () => {
  it.each([
    "/agents/claude/run",
    "/runs/run-1/cancel",
    "/delegations/d/cancel",
    "/approvals/a",
    "/threads/t/connect",
  ])("%s: JSON only, since a page can send anything else without asking", async (path) => {
    const bench = new AppBench();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "text/json", ""])
      expect([type, (await bench.post(path, "{}", { headers: { "content-type": type } })).status]).toEqual([
        type,
        415,
      ]);
    expect((await bench.post(path, "{oops")).status).toBe(400);
    expect((await bench.post(path, "x".repeat(8 * 1_048_576 + 1))).status).toBe(413);
  });

  it("a bad body is 400 and names the field", async () => {
    const bench = new AppBench();
    const text = async (answer: Promise<Response>) => [(await answer).status, await (await answer).text()];
    expect(await text(bench.post("/agents/claude/run", {}))).toEqual([
      400,
      expect.stringContaining("threadId"),
    ]);
    expect(await text(bench.post("/runs/run-1/cancel", { reason: 7 }))).toEqual([
      400,
      expect.stringContaining("reason"),
    ]);
    expect(await text(bench.post("/runs/run-1/cancel", { force: true }))).toEqual([
      400,
      expect.stringContaining("force"),
    ]);
    expect(await text(bench.post("/approvals/a", { decision: "maybe" }))).toEqual([
      400,
      expect.stringContaining("decision"),
    ]);
    expect(await text(bench.post("/agents/claude/run", { threadId: "t", runId: "r", messages: [] }))).toEqual(
      [400, expect.stringContaining("messages")],
    );
  });

  it.each(["abc", "-1", "1; drop", "9".repeat(20)])("Last-Event-ID %j is 400", async (id) => {
    const bench = new AppBench();
    expect((await bench.fetch("/threads/t/events", { headers: { "last-event-id": id } })).status).toBe(400);
    expect((await bench.fetch(`/threads/t/events?after=${encodeURIComponent(id)}`)).status).toBe(400);
  });

  it("an encoding that does not exist is 400", async () => {
    expect((await new AppBench().fetch("/threads/t/events?subagents=xml")).status).toBe(400);
  });
});

describe("errors", () => {
  let logged: ReturnType<typeof vi.spyOn>;
  beforeEach(() => {
    logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  });
  afterEach(() => logged.mockRestore());

  it("what is unexpected is logged, and tells nothing of its inside", async () => {
    const authorise = () => {
      throw new Error("postgres://user:s3cret@db/prod is down");
    };
    const answer = await new AppBench({ authorise }).fetch("/agents");
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({
      error: { code: "internal", message: expect.not.stringContaining("s3cret") },
    });
    expect(logged).toHaveBeenCalledOnce();
  });

  it("what does not exist is 404 in the shape of every error", async () => {
    const bench = new AppBench();
    for (const path of [
      "/runs/none",
      "/runs/none/delegations",
      "/delegations/none",
      "/delegations/none/artifacts/a",
      "/nothing",
      "/agents/claude/run",
    ]) {
      const answer = await bench.fetch(path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.json()).toEqual(JSON_ERROR);
    }
    for (const path of ["/runs/none/cancel", "/delegations/none/cancel", "/nothing"])
      expect((await bench.post(path)).status).toBe(404);
    expect((await bench.run("nobody")).status).toBe(404);
    expect(logged).not.toHaveBeenCalled();
  });
});

it("more runs at once than the host takes are refused, and tried again when one is over", async () => {
  const bench = new AppBench({}, { maxActive: 2 });
  await bench.run("claude", { threadId: "a", runId: "a" });
  await bench.run("claude", { threadId: "b", runId: "b" });
  const busy = await bench.run("claude", { threadId: "c", runId: "c" });
  expect([busy.status, await busy.json()]).toMatchObject([
    429,
    { error: { code: "host_busy", retryable: true } },
  ]);
  await bench.fetch("/runs/a/cancel", {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  await expect.poll(() => bench.runs.active(() => true).length).toBe(1);
  expect((await bench.run("claude", { threadId: "c", runId: "c" })).status).toBe(200);
});

describe("tenants", () => {
  async function two() {
    const bench = new AppBench(
      { authorise: byHeader },
      {
        play: async (sink, request) => {
          void sink.approve({ kind: "permission", title: "Run?" }, new AbortController().signal);
          await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
          return { status: "cancelled" };
        },
      },
    );
    await bench.run("claude", { tenant: "acme" });
    await bench.clock.advance(0);
    const { delegation_id: delegation } = await bench.delegate(threadKey({ tenant: "acme" }, "thread-1"));
    const text = JSON.stringify((await takeAll(bench, "acme")) ?? "");
    const [, approval = ""] = /"approvalId\\*":\\*"([^"\\]+)/.exec(text) ?? [];
    return { bench, delegation, approval };
  }

  async function takeAll(bench: AppBench, tenant: string): Promise<string> {
    const entries: unknown[] = [];
    for await (const batch of bench.journal.read(threadKey({ tenant }, "thread-1"))) entries.push(...batch);
    return JSON.stringify(entries);
  }

  it("runs, delegations and artifacts of one do not exist for another, to the letter", async () => {
    const { bench, delegation } = await two();
    const paths = [
      "/runs/run-1",
      "/runs/run-1/delegations",
      `/delegations/${delegation}`,
      `/delegations/${delegation}/artifacts/a`,
    ];
    for (const path of paths) {
      expect([path, (await bench.fetch(path, { tenant: "acme" })).status]).toEqual([path, 200]);
      for (const tenant of ["other", "acm", "acme/", "%61cme"]) {
        const theirs = await bench.fetch(path, { tenant });
        const none = await bench.fetch(path.replace("run-1", "none").replace(delegation, "none"), { tenant });
        expect([tenant, theirs.status, await theirs.text()]).toEqual([tenant, 404, await none.text()]);
      }
    }
    for (const path of ["/runs/run-1/cancel", `/delegations/${delegation}/cancel`])
      expect((await bench.post(path, {}, { tenant: "other" })).status).toBe(404);
    expect(bench.runs.byId("run-1", () => true)?.status).toBe("running");
  });

  it("nor do approvals: the same answer as for one that was never asked", async () => {
    const { bench, approval } = await two();
    expect(approval).toMatch(/^apr-/);
    const body = { decision: "approve" };
    const theirs = await bench.post(`/approvals/${approval}`, body, { tenant: "other" });
    const none = await bench.post("/approvals/apr-none", body, { tenant: "other" });
    expect([theirs.status, await theirs.text()]).toEqual([none.status, await none.text()]);
    expect((await bench.post(`/approvals/${approval}`, body, { tenant: "acme" })).status).toBe(202);
    expect((await bench.post(`/approvals/${approval}`, body, { tenant: "acme" })).status).toBe(409);
  });

  it("threads of the same name are two threads", async () => {
    const { bench } = await two();
    const stream = await bench.post("/threads/thread-1/connect", {}, { tenant: "other" });
    expect(await stream.text()).toBe(": open\n\n");
    expect((await bench.run("quick", { tenant: "other" })).status).toBe(200);
    expect(bench.runs.byId("run-1", (thread) => owns({ tenant: "other" }, thread))?.agent).toBe("quick");
  });

  it("a tenant's name cannot reach into another's threads", () => {
    for (const [tenant, thread] of [
      ["a", "b/c"],
      ["a/b", "c"],
      ["", "a/b"],
      ["a%2Fb", "c"],
    ] as const) {
      const key = threadKey({ tenant }, thread);
      expect(threadIdOf(key)).toBe(thread);
      for (const other of ["a", "a/b", "", "a%2Fb", "A"])
        expect(owns({ tenant: other }, key)).toBe(other === tenant);
    }
  });
});

describe("runs", () => {
  it("a known run is joined, never started again; a busy thread is 409", async () => {
    const play = vi.fn(async () => FINISHED);
    const bench = new AppBench({}, { play });
    const first = await (await bench.run()).text();
    const again = await (await bench.run()).text();
    expect(play).toHaveBeenCalledOnce();
    expect(again).toBe(first);
    expect(again).toContain("RUN_FINISHED");
    const busy = new AppBench();
    await busy.run();
    const second = await busy.run("quick", { runId: "run-2" });
    expect([second.status, (await second.json()).error]).toEqual([
      409,
      { code: "thread_busy", message: expect.stringContaining("run-1"), retryable: true },
    ]);
  });

  it("case 011: a run that nobody watches is cancelled after the grace, and not before", async () => {
    const bench = new AppBench();
    const response = await bench.run();
    await response.body?.cancel();
    await bench.clock.advance(29_999);
    expect(bench.runs.byId("run-1", () => true)?.status).toBe("running");
    await bench.clock.advance(1);
    expect(bench.runs.byId("run-1", () => true)?.status).toBe("cancelled");
    expect(bench.clock.pending).toBe(0);
  });

  it("a run whose reader never came is cancelled after the grace as well", async () => {
    const bench = new AppBench();
    const messages = [{ id: "u", text: "Hello" }];
    bench.runs.start({ agent: "claude", thread: "/t", runId: "run-1", messages, disconnectGraceMs: 30_000 });
    await bench.clock.advance(29_999);
    expect(bench.runs.find("/t", "run-1")?.status).toBe("running");
    await bench.clock.advance(1);
    expect(bench.runs.find("/t", "run-1")?.status).toBe("cancelled");
    expect(bench.clock.pending).toBe(0);
  });

  it("a reader that comes back in time keeps it, and one of several that leaves changes nothing", async () => {
    const bench = new AppBench();
    const first = await bench.run();
    const second = await bench.fetch("/threads/thread-1/events");
    await first.body?.cancel();
    await bench.clock.advance(60_000);
    await second.body?.cancel();
    await bench.clock.advance(20_000);
    const third = await bench.run();
    await bench.clock.advance(60_000);
    expect(bench.runs.byId("run-1", () => true)?.status).toBe("running");
    await third.body?.cancel();
    await bench.clock.advance(30_000);
    expect(bench.runs.byId("run-1", () => true)?.status).toBe("cancelled");
  });

  it("a closing host cancels what runs and starts nothing more", async () => {
    const bench = new AppBench();
    await bench.run();
    await bench.runs.close();
    expect(bench.runs.byId("run-1", () => true)?.status).toBe("cancelled");
    expect((await bench.run("quick", { runId: "run-2", threadId: "other" })).status).toBe(503);
  });
});

describe("artifacts", () => {
  it("come as attachments that no browser runs", async () => {
    const bench = new AppBench();
    const { delegation_id: id } = await bench.delegate("/thread-1");
    for (const name of ["a", encodeURIComponent("Bericht für Ada'.md")]) {
      const answer = await bench.fetch(`/delegations/${id}/artifacts/${name}`);
      expect(await answer.text()).toBe("secret bytes");
      const { headers } = answer;
      expect(headers.get("content-type")).toBe("text/markdown");
      expect(headers.get("content-disposition")).toBe(
        "attachment; filename=\"Bericht_f_r_Ada_.md\"; filename*=UTF-8''Bericht%20f%C3%BCr%20Ada%27.md",
      );
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("sandbox");
    }
  });
});

describe("the console", () => {
  it.each([
    "/../package.json",
    "/..%2f..%2fpackage.json",
    "/%2e%2e/package.json",
    "/assets/../../package.json",
    "/.env",
    "/assets",
    "/index.html/",
    "//etc/passwd",
    "/console/../app.js",
  ])("%s is nothing", async (path) => {
    expect((await new AppBench().fetch(path)).status).toBe(404);
  });
});

it.each([
  ["localhost", true],
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["[::1]", true],
  ["0.0.0.0", false],
  ["::", false],
  ["localhost.evil", false],
  ["127.0.0.1.evil", false],
  ["1127.0.0.1", false],
  ["10.0.0.1", false],
  ["", false],
])("isLoopback(%j) is %j", (hostname, expected) => expect(isLoopback(hostname)).toBe(expected));
