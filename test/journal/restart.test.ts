import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ThreadEvent } from "../../src/bridges/agui/event.js";
import { createAgent } from "../../src/core/agent.js";
import { isRunTerminal } from "../../src/core/run-event.js";
import { claude } from "../../src/drivers/claude/claude.js";
import { createDurableStorage } from "../../src/host/durable-storage.js";
import { createHost, type Host } from "../../src/host/host.js";
import type { Journal } from "../../src/journal/journal.js";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import { scriptedClaude } from "../../src/testing/claude/start.js";
import { type Remote, startRemote } from "../cli/remote.js";
import { type Folder, makeFolder, troupe } from "../cli/troupe.js";
import { collect, subagentText } from "../support/frames.js";
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
        // An agent that the next host does not have, so that nobody can ask it.
        agentKey: "gone",
        agentName: "Gone",
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

    /** Starts `troupe serve`, a run at it, and kills it as soon as the delegation has said something. */
    async function killedAtWork(place: Folder, prompt: string, until: string) {
      await using killed = troupe(["serve", "--json"], { cwd: place.path });
      await killed.says("}\n");
      const run = await fetch(`${killed.lines[0]?.url}/agents/claude/run`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          threadId: "t",
          runId: "r",
          messages: [{ id: "m", role: "user", content: prompt }],
        }),
      });
      const reader = run.body?.pipeThrough(new TextDecoderStream()).getReader();
      let seen = "";
      while (!seen.includes(until)) seen += (await reader?.read())?.value ?? "";
      killed.child.kill("SIGKILL");
      await killed.exit;
      await reader?.cancel().catch(() => undefined);
      return {
        delegationId: /"delegationId":"([^"]+)"/.exec(seen)?.[1] ?? "",
        program: place.claudePid(),
      };
    }

    const isThere = (pid: number) => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };

    async function framesOfThread(url: string) {
      const headers = { "content-type": "application/json" };
      return collect(await fetch(`${url}/threads/t/connect`, { method: "POST", headers, body: "{}" }));
    }

    const sent = async (remote: Remote) =>
      (await remote.seen()).filter(({ method }) => /Send|message/i.test(method));

    it("kill -9 with a delegation at work: the next start stops the remote's task, and all has one end", async () => {
      await using remote = await startRemote();
      await using place = await makeFolder();
      await place.configure({ cardUrl: remote.cardUrl, config: { serve: { port: 0 } } });
      const left = await killedAtWork(place, "#say Half of it.\n#hang", '"subagent.text.delta"');
      await using next = troupe(["serve", "--json"], { cwd: place.path });
      await next.says("}\n");
      const url = String(next.lines[0]?.url);
      const delegation = async () => (await fetch(`${url}/delegations/${left.delegationId}`)).json();
      await expect.poll(async () => (await delegation()).status).toBe("cancelled");
      expect(await delegation()).toMatchObject({ result: { summary: "Half of it." } });
      const frames = await framesOfThread(url);
      await verify(frames);
      const names = frames.map(({ event }) => event.name ?? event.type);
      expect(names.filter((name) => /^subagent\.(?:finished|failed|cancelled)$/.test(name))).toEqual([
        "subagent.cancelled",
      ]);
      expect(names.filter((name) => /^RUN_(?:ERROR|FINISHED)$/.test(name))).toEqual([
        "RUN_ERROR",
        "RUN_FINISHED",
      ]);
      expect(await (await fetch(`${url}/runs/r`)).json()).toMatchObject({
        status: "failed",
        error: { code: "host_stopped" },
      });
      expect(await sent(remote)).toHaveLength(1);
      expect(await remote.cancels()).toHaveLength(1);
      await expect.poll(() => isThere(left.program)).toBe(false);
      next.child.kill("SIGTERM");
      expect(await next.exit).toBe(0);
    });

    it("with onRunEnd detach the next start follows the task on: each word once, the question asked again, one end", async () => {
      await using remote = await startRemote();
      await using place = await makeFolder();
      const subAgent = { policy: { onRunEnd: "detach" } };
      await place.configure({ cardUrl: remote.cardUrl, subAgent, config: { serve: { port: 0 } } });
      const prompt = "#say One, two.\n#artifact notes.md 300\n#input Which?";
      const left = await killedAtWork(place, prompt, '"subagent.input_required"');
      await using next = troupe(["serve", "--json"], { cwd: place.path });
      await next.says("}\n");
      const url = String(next.lines[0]?.url);
      const delegation = async () => (await fetch(`${url}/delegations/${left.delegationId}`)).json();
      expect(await delegation()).toMatchObject({ status: "needs_input" });
      const answer = () =>
        fetch(`${url}/delegations/${left.delegationId}/input`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ text: "the second" }),
        });
      // It can be answered as soon as the remote was found again.
      await expect.poll(async () => (await answer()).status).toBe(202);
      await expect.poll(async () => (await delegation()).status).toBe("completed");
      const frames = await framesOfThread(url);
      await verify(frames);
      expect(subagentText(frames)).toBe("One, two.You answered: the second");
      const names = frames.map(({ event }) => event.name ?? event.type);
      expect(names.filter((name) => name === "subagent.artifact")).toHaveLength(1);
      expect(names.filter((name) => name === "subagent.finished")).toHaveLength(1);
      // The task, and the answer.
      expect(await sent(remote)).toHaveLength(2);
      expect(await remote.cancels()).toEqual([]);
      next.child.kill("SIGTERM");
      expect(await next.exit).toBe(0);
      const after = await createDurableStorage({ file: join(place.path, ".troupe", "journal.db") });
      const ends = (await all(after.journal, "/t")).filter(({ event }) => isRunTerminal(event));
      expect(ends.filter(({ runId }) => runId === "r")).toHaveLength(1);
      await after.journal.close();
    });

    it("a host that is closed leaves to the next one what goes on without its run, and drains before", async () => {
      await using remote = await startRemote();
      const open = async () =>
        createHost({
          agents: { claude: createAgent(claude({ executable: scriptedClaude() }), { workspace: folder }) },
          subAgents: [a2a({ name: "research", agentCardUrl: remote.cardUrl })],
          policy: { onRunEnd: "detach" },
          syncBudgetMs: 1,
          ...(await storage()),
        });
      const request = (path: string, init?: RequestInit) => new Request(`http://127.0.0.1${path}`, init);
      const first = await open();
      const { run, runId } = first.run("claude", "#say One.\n#input Which?");
      const draining = first.drain(60_000);
      expect(() => first.run("claude", "Hello")).toThrow(expect.objectContaining({ code: "host_closed" }));
      await draining;
      expect(await run.result).toMatchObject({ text: expect.any(String) });
      const { delegations } = await (await first.fetch(request(`/runs/${runId}`))).json();
      const stateAt = async (host: Host) =>
        (await (await host.fetch(request(`/delegations/${delegations[0]}`))).json()).status;
      await expect.poll(() => stateAt(first)).toBe("needs_input");
      await first.close();
      expect(await remote.cancels()).toEqual([]);

      const second = await open();
      const answer = () =>
        second.fetch(
          request(`/delegations/${delegations[0]}/input`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ text: "this" }),
          }),
        );
      await expect.poll(async () => (await answer()).status).toBe(202);
      await expect.poll(() => stateAt(second)).toBe("completed");
      await second.close();
    });
  },
);
