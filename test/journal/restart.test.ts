import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ThreadEvent } from "../../src/bridges/agui/event.js";
import { isRunTerminal } from "../../src/core/run-event.js";
import { createDurableStorage } from "../../src/host/durable-storage.js";
import type { Journal } from "../../src/journal/journal.js";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { startRemote } from "../cli/remote.js";
import { makeFolder, troupe } from "../cli/troupe.js";
import { collect } from "../support/frames.js";
import { startTestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const problem = await whyNoSqlite();
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "troupe-restart-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const storage = () => createDurableStorage({ file: join(folder, "journal.db") });

async function all(journal: Journal<ThreadEvent>, thread: string) {
  const entries = [];
  for await (const batch of journal.read(thread)) entries.push(...batch);
  return entries;
}

describe.skipIf(problem !== undefined)(
  `a host with the journal of an earlier one${problem ? ` (${problem})` : ""}`,
  () => {
    it("serves its threads, runs, delegations and files, and starts none of its runs again", async () => {
      const first = await storage();
      const before: { events: unknown; run: unknown; delegation: unknown; list: unknown; bytes: string } = {
        events: 0,
        run: 0,
        delegation: 0,
        list: 0,
        bytes: "",
      };
      let delegationId = "";
      let artifact = "";
      {
        await using test = await startTestHost({
          host: { journal: first.journal, artifacts: first.artifacts },
        });
        before.events = await collect(await test.post("#say Found it.\n#artifact notes.bin 300"));
        const run = await (await test.get("/runs/run-1")).json();
        before.run = run;
        [delegationId] = run.delegations;
        before.list = await (await test.get("/runs/run-1/delegations")).json();
        const delegation = await (await test.get(`/delegations/${delegationId}`)).json();
        before.delegation = delegation;
        artifact = delegation.artifacts[0].name;
        before.bytes = await (await test.get(`/delegations/${delegationId}/artifacts/${artifact}`)).text();
        expect(before.bytes.length).toBeGreaterThan(100);
      }
      const second = await storage();
      await using test = await startTestHost({
        host: { journal: second.journal, artifacts: second.artifacts },
      });
      // The journal's times are those of its entries.
      const times = { startedAt: expect.any(Number), endedAt: expect.any(Number) };
      expect(await (await test.get("/runs/run-1")).json()).toEqual({ ...Object(before.run), ...times });
      expect(await (await test.get(`/delegations/${delegationId}`)).json()).toEqual(before.delegation);
      expect(await (await test.get("/runs/run-1/delegations")).json()).toEqual(before.list);
      expect(await (await test.get(`/delegations/${delegationId}/artifacts/${artifact}`)).text()).toBe(
        before.bytes,
      );
      // The same ids again are the same run, with the same frames.
      expect(await collect(await test.post("#say Something else"))).toEqual(before.events);
      expect(await test.remote.seen()).toEqual([]);
      expect(await collect(await test.send("/threads/thread-1/connect"))).toEqual(before.events);
      for (const path of ["/runs/run-2", "/delegations/del-1", `/delegations/${delegationId}/artifacts/none`])
        expect((await test.get(path)).status).toBe(404);
      expect(await (await test.send(`/delegations/${delegationId}/cancel`)).json()).toMatchObject({
        status: "completed",
      });
      expect((await test.send(`/delegations/${delegationId}/input`, { text: "x" })).status).toBe(409);
      // And the thread goes on after it.
      const more = await collect(await test.post("#say More", { runId: "run-2" }));
      expect(Number(more[0]?.id)).toBeGreaterThan(Number((before.events as { id?: string }[]).at(-1)?.id));
    });

    it("another tenant's runs and delegations do not exist", async () => {
      const first = await storage();
      const journal = first.journal;
      const subagent = {
        runId: "run-1",
        delegationId: "del-1",
        agentKey: "research",
        agentName: "Research",
        protocol: "a2a" as const,
      };
      const events: ThreadEvent[] = [
        { type: "run.started", agent: "claude", messages: [] },
        { ...subagent, type: "subagent.started", objective: "o", correlation: "none" },
      ];
      for (const event of events) await journal.append({ thread: "acme/t", runId: "run-1", event });
      await journal.close();
      const second = await storage();
      const authorise = (request: Request) => ({ tenant: request.headers.get("x-tenant") ?? "" });
      await using test = await startTestHost({ host: { ...second, authorise } });
      for (const path of ["/runs/run-1", "/delegations/del-1"]) {
        expect((await test.get(path, { "x-tenant": "other" })).status).toBe(404);
        expect((await test.get(path, { "x-tenant": "acme" })).status).toBe(200);
      }
    });

    it("closes what was open in every way, once, and in order", async () => {
      const first = await storage();
      const identity = {
        runId: "r",
        delegationId: "del-1",
        agentKey: "research",
        agentName: "Research",
        protocol: "a2a" as const,
        parentToolCallId: "call",
        remoteTaskId: "task",
      };
      const events: ThreadEvent[] = [
        { type: "run.started", agent: "claude", messages: [{ id: "m", text: "Ask." }] },
        { type: "text.start", messageId: "t1" },
        { type: "text.delta", messageId: "t1", delta: "I ask." },
        { type: "tool.start", toolCallId: "call", name: "delegate_to_agent" },
        { type: "tool.end", toolCallId: "call" },
        {
          type: "approval.requested",
          approval: { approvalId: "a", kind: "permission", title: "May I?", expiresAt: 1 } as never,
        },
        { ...identity, type: "subagent.started", objective: "find", correlation: "strong" },
        { ...identity, type: "subagent.text.start", messageId: "s1" },
        { ...identity, type: "subagent.text.delta", messageId: "s1", delta: "Half of it" },
        { ...identity, type: "subagent.tool.start", toolCallId: "x", name: "search" },
        { ...identity, type: "subagent.input_required", prompt: "Which?" },
      ];
      await Promise.all(events.map((event) => first.journal.append({ thread: "/t", runId: "r", event })));
      await first.journal.close();

      const both = [await storage(), await storage()];
      const hosts = await Promise.all(both.map((host) => startTestHost({ host })));
      const [second] = both;
      if (second === undefined) throw new Error("no storage");
      const closing = (await all(second.journal, "/t")).slice(events.length);
      for (const host of hosts) await host[Symbol.asyncDispose]();
      expect(closing.map(({ event }) => event.type)).toEqual([
        "subagent.input_resolved",
        "subagent.tool.end",
        "subagent.text.end",
        "subagent.failed",
        "approval.resolved",
        "text.end",
        "tool.result",
        "run.failed",
      ]);
      expect(closing[3]?.event).toMatchObject({
        ...identity,
        error: { code: "host_stopped", retryable: true },
        result: { status: "failed", summary: "Half of it", remote_task_id: "task" },
      });
      expect(closing.at(-1)?.event).toMatchObject({ error: { code: "host_stopped", retryable: true } });
      const third = await storage();
      await using test = await startTestHost({ host: third });
      expect(await all(third.journal, "/t")).toHaveLength(events.length + closing.length);
      await verify(await collect(await test.send("/threads/t/connect")));
      expect(await (await test.get("/runs/r")).json()).toMatchObject({
        status: "failed",
        error: { code: "host_stopped" },
        delegations: ["del-1"],
      });
      expect(await (await test.get("/delegations/del-1")).json()).toMatchObject({
        status: "failed",
        objective: "find",
      });
    });

    it("a delegation that went on after its run gets its end within a run of its own", async () => {
      const first = await storage();
      const identity = {
        runId: "r",
        delegationId: "del-1",
        agentKey: "research",
        agentName: "Research",
        protocol: "a2a" as const,
      };
      const events: ThreadEvent[] = [
        { type: "run.started", agent: "claude", messages: [{ id: "m", text: "Ask." }] },
        { ...identity, type: "subagent.started", objective: "find", correlation: "strong" },
        { ...identity, type: "subagent.detached" },
        { type: "run.finished", text: "Later." },
      ];
      for (const event of events) await first.journal.append({ thread: "/t", runId: "r", event });
      await first.journal.close();
      const second = await storage();
      await using test = await startTestHost({ host: second });
      const closing = (await all(second.journal, "/t")).slice(events.length);
      expect(closing.map(({ event }) => event.type)).toEqual([
        "run.started",
        "subagent.resumed",
        "subagent.failed",
        "run.finished",
      ]);
      expect(closing[0]?.event).toMatchObject({ continues: "r" });
      await verify(await collect(await test.send("/threads/t/connect")));
      expect(await (await test.get("/runs/r")).json()).toMatchObject({
        status: "finished",
        delegations: ["del-1"],
      });
    });

    it("kill -9 with a delegation at work: the next start ends all of it, and the browser gets one end", async () => {
      await using remote = await startRemote();
      await using place = await makeFolder();
      await place.configure({ cardUrl: remote.cardUrl, config: { serve: { port: 0 } } });
      await using killed = troupe(["serve", "--json"], { cwd: place.path });
      await killed.says("}\n");
      const run = await fetch(`${killed.lines[0]?.url}/agents/claude/run`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          threadId: "t",
          runId: "r",
          messages: [{ id: "m", role: "user", content: "#say Half of it.\n#hang" }],
        }),
      });
      const reader = run.body?.pipeThrough(new TextDecoderStream()).getReader();
      let seen = "";
      while (!seen.includes('"subagent.text.delta"')) seen += (await reader?.read())?.value ?? "";
      killed.child.kill("SIGKILL");
      await killed.exit;
      await reader?.cancel().catch(() => undefined);
      const cursor = [...seen.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
      await using next = troupe(["serve", "--json"], { cwd: place.path });
      await next.says("}\n");
      const url = next.lines[0]?.url;
      const rest = await collect(
        await fetch(`${url}/threads/t/connect`, {
          method: "POST",
          headers: { "last-event-id": cursor ?? "", "content-type": "application/json" },
          body: "{}",
        }),
      );
      const names = rest.map(({ event }) => event.name ?? event.type);
      expect(names.filter((name) => name === "subagent.failed")).toHaveLength(1);
      expect(names.at(-1)).toBe("RUN_ERROR");
      expect(await (await fetch(`${url}/runs/r`)).json()).toMatchObject({
        status: "failed",
        error: { code: "host_stopped" },
      });
      next.child.kill("SIGTERM");
      expect(await next.exit).toBe(0);
      const after = await createDurableStorage({ file: join(place.path, ".troupe", "journal.db") });
      const entries = await all(after.journal, "/t");
      expect(entries.filter(({ event }) => isRunTerminal(event))).toHaveLength(1);
      await after.journal.close();
    });
  },
);
