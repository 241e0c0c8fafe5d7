import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ThreadEvent } from "../../src/bridges/agui/event.js";
import { systemClock } from "../../src/core/clock.js";
import { createMemoryThreadStore } from "../../src/core/thread.js";
import { createMemoryArtifactStore, type StoredArtifact } from "../../src/delegation/artifacts.js";
import { owns, tenantOf, threadIdOf, threadKey } from "../../src/host/authoriser.js";
import { createDurableStorage, type DurableStorage } from "../../src/host/durable-storage.js";
import { createHost } from "../../src/host/host.js";
import { createRedisStorage } from "../../src/host/redis-storage.js";
import { createMemoryJournal } from "../../src/journal/memory-journal.js";
import { RedisConnection } from "../../src/journal/redis-connection.js";
import { RedisKeys } from "../../src/journal/redis-keys.js";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { byHeader } from "../support/app-bench.js";
import { agentOf, FINISHED, say, untilAborted } from "../support/fake-agent.js";
import { noRedis, RedisServer } from "../support/redis-server.js";

/** Names that would reach into another's place wherever keys are put together carelessly. */
const TENANTS = [
  "acme",
  "ACME",
  "acme/x",
  "acme%2Fx",
  "ac",
  "*",
  "{acme}",
  "acme}:entries",
  "..",
  "a'--",
  "__proto__",
];
const THREADS = [
  "t",
  "x/t",
  "../acme/t",
  "t:entries",
  "}:state{",
  "%",
  "_",
  "*",
  "t'; DROP TABLE entries;--",
  "__proto__",
];

const noSqlite = await whyNoSqlite();
const folder = mkdtempSync(join(tmpdir(), "troupe-isolation-"));
let redis: RedisServer | undefined;
beforeAll(async () => {
  if (noRedis === undefined) redis = await RedisServer.start();
});
afterAll(async () => {
  await redis?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface Engine {
  readonly name: string;
  readonly missing?: string | undefined;
  /** The same place each time that `place` is the same, where the engine is shared. */
  readonly open: (place: string) => Promise<DurableStorage>;
}

const ENGINES: readonly Engine[] = [
  {
    name: "memory",
    open: async () => ({
      journal: createMemoryJournal<ThreadEvent>(),
      artifacts: createMemoryArtifactStore(),
      threads: createMemoryThreadStore(),
    }),
  },
  {
    name: "SQLite",
    missing: noSqlite,
    open: (place) => createDurableStorage({ file: join(folder, place, "journal.db") }),
  },
  {
    name: "Redis",
    missing: noRedis,
    open: (place) => createRedisStorage({ url: redis?.url ?? "", prefix: `troupe-${place}` }),
  },
];

const PAIRS = TENANTS.flatMap((tenant) => THREADS.map((thread) => ({ tenant, thread })));

describe("a thread's key", () => {
  it("is one for each tenant and thread, and says whose it is", () => {
    expect(new Set(PAIRS.map(({ tenant, thread }) => threadKey({ tenant }, thread))).size).toBe(PAIRS.length);
    const name = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(name, name, name, name, (tenant, thread, other, otherThread) => {
        const key = threadKey({ tenant }, thread);
        expect([tenantOf(key), threadIdOf(key)]).toEqual([tenant, thread]);
        expect(owns({ tenant: other }, key)).toBe(other === tenant);
        if (tenant !== other || thread !== otherThread)
          expect(threadKey({ tenant: other }, otherThread)).not.toBe(key);
      }),
    );
  });
});

describe("a key in Redis", () => {
  it("is never that of anything else, whatever tenants, threads, runs and delegations are called", () => {
    const keys = new RedisKeys("p");
    const kinds: Readonly<Record<string, (name: string) => string>> = {
      entries: (name) => keys.thread(name).entries,
      state: (name) => keys.thread(name).state,
      spans: (name) => keys.thread(name).spans,
      starts: (name) => keys.thread(name).starts,
      runStarts: (name) => keys.thread(name).runStarts,
      open: (name) => keys.thread(name).open,
      run: (name) => keys.run(name),
      delegation: (name) => keys.delegation(name),
      files: (name) => keys.files(name),
      checkpoint: (name) => keys.checkpoint(name),
      wakeUps: () => keys.wakeUps,
      questions: () => keys.questions,
      openThreads: () => keys.openThreads,
    };
    const fixed = ["wakeUps", "questions", "openThreads"];
    const hostile = fc.constantFrom(
      "",
      "a",
      "a}:state",
      "{a}",
      ":open",
      "run:a",
      "a:entries",
      "wake",
      "open-threads",
    );
    const name = fc.oneof(hostile, fc.string({ unit: "grapheme" }));
    const kind = fc.constantFrom(...Object.keys(kinds));
    fc.assert(
      fc.property(kind, name, kind, name, (one, first, two, second) => {
        const same = one === two && (fixed.includes(one) || first === second);
        expect(kinds[one]?.(first) === kinds[two]?.(second)).toBe(same);
      }),
    );
    // One slot for a thread, and never one that its name chose.
    fc.assert(
      fc.property(name, (thread) => {
        expect(keys.thread(thread).entries).toMatch(/^p:\{[^{}]*\}:entries$/);
      }),
    );
  });
});

describe.each(ENGINES)("on $name", ({ name, missing, open }) => {
  it.skipIf(missing !== undefined)("threads, checkpoints and files of all names are apart", async () => {
    const { journal, artifacts, threads } = await open("names");
    const keys = PAIRS.map(({ tenant, thread }) => threadKey({ tenant }, thread));
    await Promise.all(
      keys.flatMap((thread) => [
        ...[
          { type: "run.started" } as const,
          { type: "notice", code: "x", message: thread } as const,
          { type: "run.finished" } as const,
        ].map((event) => journal.append({ thread, runId: "run-1", event: event as unknown as ThreadEvent })),
        threads.set(thread, { driver: "fake", workspace: "/w", session: thread }),
        artifacts.put(thread, fileOf(thread)),
      ]),
    );
    for (const thread of keys) {
      const said: unknown[] = [];
      for await (const batch of journal.read(thread))
        said.push(...batch.map(({ event }) => Object(event).message));
      expect(said).toEqual([undefined, thread, undefined]);
      expect((await threads.get(thread))?.session).toBe(thread);
      expect(String(Buffer.from((await artifacts.get(thread, "a"))?.bytes ?? []))).toBe(thread);
      for (const wanted of ["../a", "a/../a", "", "*", "__proto__", "constructor"])
        expect(await artifacts.get(thread, wanted)).toBeUndefined();
    }
    for (const unknown of ["", "acme", "acme/", "acme/T", "/t"]) {
      expect(await journal.head(unknown)).toBeUndefined();
      expect(await threads.get(unknown)).toBeUndefined();
      expect(await artifacts.get(unknown, "a")).toBeUndefined();
    }
    // The index of runs knows of all of them, each with the thread that says whose it is.
    if (journal.find !== undefined) {
      const found = await journal.find({ runId: "run-1" });
      expect(found.map(({ thread }) => thread).sort()).toEqual([...keys].sort());
    }
    await journal.close();
  });

  it.skipIf(missing !== undefined)(
    "two tenants with the same ids meet nowhere, nor at the next host",
    async () => {
      const { agent } = agentOf(async (sink, request) => {
        say(sink, `secret of ${request.prompt}`);
        return FINISHED;
      });
      const hosting = async () =>
        createHost({ agents: { fake: agent }, authorise: byHeader, ...(await open("hosts")) });
      const ask = async (
        host: Awaited<ReturnType<typeof hosting>>,
        tenant: string,
        path: string,
        body?: object,
      ) => {
        const headers = { authorization: `tenant ${tenant}`, "content-type": "application/json" };
        const init =
          body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
        const answer = await host.fetch(new Request(`http://127.0.0.1${path}`, init));
        return { status: answer.status, text: await answer.text() };
      };
      const first = await hosting();
      for (const tenant of TENANTS) {
        const messages = [{ id: "u", role: "user", content: tenant }];
        const { text } = await ask(first, tenant, "/agents/fake/run", {
          threadId: "t",
          runId: "r",
          messages,
        });
        expect(text).toContain(JSON.stringify(`secret of ${tenant}`));
      }
      // What is in memory is gone with its host.
      if (name !== "memory") await first.close();
      const next = name === "memory" ? first : await hosting();
      for (const tenant of TENANTS) {
        const { text } = await ask(next, tenant, "/threads/t/connect", {});
        expect(text).toContain(JSON.stringify(`secret of ${tenant}`));
        for (const other of TENANTS.filter((one) => one !== tenant))
          expect(text).not.toContain(JSON.stringify(`secret of ${other}`));
        expect(JSON.parse((await ask(next, tenant, "/runs/r")).text)).toMatchObject({
          runId: "r",
          threadId: "t",
        });
      }
      for (const tenant of ["nobody", "acm", "acme/"]) {
        expect((await ask(next, tenant, "/runs/r")).status).toBe(404);
        expect((await ask(next, tenant, "/runs/r/cancel", {})).status).toBe(404);
        expect((await ask(next, tenant, "/threads/t/connect", {})).text).toBe(": open\n\n");
      }
      await next.close();
    },
  );
});

/** The rights that docs/security.md gives to a host. */
const RIGHTS = "-@all +@read +@write +@pubsub +@connection +@scripting +time -@dangerous -@admin";

it.skipIf(noRedis !== undefined)(
  "a user of Redis with the least rights is enough, and reaches no other deployment",
  async () => {
    const connect = (url: string) => RedisConnection.open({ url, outageMs: 5_000, clock: systemClock });
    const admin = await connect(redis?.url ?? "");
    await admin.command([
      "ACL",
      "SETUSER",
      "host",
      "on",
      ">pass-of-the-host",
      "~mine:*",
      "&mine:*",
      ...RIGHTS.split(" "),
    ]);
    const url = (redis?.url ?? "").replace("redis://", "redis://host:pass-of-the-host@");
    const storage = await createRedisStorage({ url, prefix: "mine" });
    const { agent } = agentOf((sink) => {
      say(sink, "said");
      return FINISHED;
    });
    const host = await createHost({ agents: { fake: agent }, ...storage });
    await host.run("fake", "Hello", { threadId: "t", runId: "r" }).run.result;
    await storage.artifacts.put("d", fileOf("x"));
    const next = await createHost({ agents: {}, ...(await createRedisStorage({ url, prefix: "mine" })) });
    await expect
      .poll(async () => (await (await next.fetch(new Request("http://127.0.0.1/runs/r"))).json()).status)
      .toBe("finished");
    expect((await storage.artifacts.get("d", "a"))?.bytes.byteLength).toBe(1);
    await next.close();
    await host.close();
    const user = await connect(url);
    for (const refused of [
      ["GET", "other:bytes:x"],
      ["SET", "other:x", "1"],
      ["FLUSHALL"],
      ["KEYS", "*"],
      ["CONFIG", "GET", "*"],
      ["ACL", "LIST"],
    ])
      await expect(user.command(refused)).rejects.toThrow(/refused the user or the password/);
    await user.close();
    await admin.close();
  },
);

describe("what another host is asked to do", () => {
  it.skipIf(noRedis !== undefined)(
    "a decision counts for the tenant that made it, there as well",
    async () => {
      let decided = 0;
      const { agent } = agentOf(async (sink, request) => {
        void sink
          .approve({ kind: "permission", title: "Run?" }, new AbortController().signal)
          .then(({ decision }) => decision === "approve" && decided++);
        await untilAborted(request);
        return { status: "cancelled" };
      });
      const hosting = async () => {
        const storage = await createRedisStorage({ url: redis?.url ?? "", prefix: "troupe-decisions" });
        return {
          host: await createHost({ agents: { fake: agent }, authorise: byHeader, ...storage }),
          ...storage,
        };
      };
      const [one, two] = [await hosting(), await hosting()];
      const ask = (host: typeof one.host, tenant: string, path: string, body: object) =>
        host.fetch(
          new Request(`http://127.0.0.1${path}`, {
            method: "POST",
            headers: { authorization: `tenant ${tenant}`, "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
        );
      const messages = [{ id: "u", role: "user", content: "go" }];
      const stream = await ask(one.host, "acme", "/agents/fake/run", { threadId: "t", runId: "r", messages });
      let approvalId = "";
      for await (const batch of one.journal.read(threadKey({ tenant: "acme" }, "t"), { follow: true })) {
        for (const { event } of batch)
          if (event.type === "approval.requested") approvalId = event.approval.approvalId;
        if (approvalId !== "") break;
      }
      const decide = (tenant: string) =>
        ask(two.host, tenant, `/approvals/${approvalId}`, { decision: "approve" });
      expect((await decide("globex")).status).toBe(409);
      expect((await ask(two.host, "globex", "/runs/r/cancel", {})).status).toBe(404);
      expect(decided).toBe(0);
      expect((await decide("acme")).status).toBe(202);
      await expect.poll(() => decided).toBe(1);
      await stream.body?.cancel();
      await two.host.close();
      await one.host.close();
    },
  );

  it.skipIf(noRedis !== undefined)("every key of a deployment begins with its prefix", async () => {
    const connection = await RedisConnection.open({
      url: redis?.url ?? "",
      outageMs: 5_000,
      clock: systemClock,
    });
    const names = (await connection.command(["KEYS", "*"])) as unknown[];
    expect(names.length).toBeGreaterThan(100);
    for (const key of names) expect(String(key)).toMatch(/^(?:troupe-(?:names|hosts|decisions)|mine):/);
    await connection.close();
  });
});

it.skipIf(noSqlite !== undefined)("on disk no file is named by anybody but the store", () => {
  const files = readdirSync(join(folder, "names"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
  expect(files.length).toBeGreaterThan(100);
  for (const file of files)
    expect(file).toMatch(/^(?:journal\.db(?:-wal|-shm)?|[0-9a-f]{62}|[0-9a-f]{64}\.json)$/);
});

function fileOf(text: string): StoredArtifact {
  const bytes = Buffer.from(text);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    description: {
      id: "a",
      name: "../../a.txt",
      mimeType: "text/plain",
      uri: "host://x",
      size: bytes.length,
      sha256,
    },
    bytes,
  };
}
