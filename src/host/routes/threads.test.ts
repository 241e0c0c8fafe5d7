import { describe, expect, it } from "vitest";
import { AppBench, byHeader } from "../../../test/support/app-bench.js";
import { threadKey } from "../authoriser.js";

interface Listed {
  readonly threads: readonly {
    readonly threadId: string;
    readonly title: string;
    readonly run: { readonly runId: string; readonly agent: string; readonly status: string };
    readonly runs: number;
    readonly detached: number;
  }[];
  readonly next?: string;
}

async function list(bench: AppBench, query = "", tenant?: string): Promise<Listed> {
  const answer = await bench.fetch(`/threads${query}`, tenant === undefined ? {} : { tenant });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Listed;
}

const ids = ({ threads }: Listed) => threads.map(({ threadId }) => threadId);

describe("GET /threads", () => {
  it("lists the latest first, each with its last run's state and its first message as a title", async () => {
    const bench = new AppBench();
    expect(await list(bench)).toEqual({ threads: [] });
    await bench.run("claude", { threadId: "first", runId: "run-1" });
    await bench.clock.advance(10);
    await bench.run("quick", { threadId: "second", runId: "run-2" });
    await bench.clock.advance(10);
    const listed = await list(bench);
    expect(ids(listed)).toEqual(["second", "first"]);
    expect(listed.threads).toMatchObject([
      { title: "Hello", run: { runId: "run-2", agent: "quick", status: "finished" }, runs: 1, detached: 0 },
      { title: "Hello", run: { runId: "run-1", agent: "claude", status: "running" } },
    ]);
    await bench.post("/runs/run-1/cancel");
    await bench.clock.advance(10);
    await bench.run("quick", { threadId: "first", runId: "run-3" });
    const [latest] = (await list(bench)).threads;
    expect(latest).toMatchObject({ threadId: "first", run: { runId: "run-3" }, runs: 2 });
  });

  it("goes on where a page ended, with threads of one moment as well, none twice and none left out", async () => {
    const bench = new AppBench();
    const names = ["a", "b:c", "d", "e", "f"];
    for (const name of names) await bench.run("quick", { threadId: name, runId: `run-${name}` });
    const seen: string[] = [];
    let next: string | undefined;
    for (let page = 0; page < 5; page++) {
      const before = next === undefined ? "" : `&before=${encodeURIComponent(next)}`;
      const listed = await list(bench, `?limit=2${before}`);
      seen.push(...ids(listed));
      next = listed.next;
      if (next === undefined) break;
    }
    expect(seen).toEqual(names);
    expect(next).toBeUndefined();
  });

  it("one tenant's threads are not in another's list", async () => {
    const bench = new AppBench({ authorise: byHeader });
    await bench.run("quick", { threadId: "ours", tenant: "acme" });
    expect(ids(await list(bench, "", "acme"))).toEqual(["ours"]);
    for (const tenant of ["other", "acm", "acme/", "%61cme"])
      expect(await list(bench, "", tenant)).toEqual({ threads: [] });
    expect((await bench.fetch("/threads")).status).toBe(401);
  });

  it("counts what goes on after its run", async () => {
    const bench = new AppBench();
    await bench.run("quick", { threadId: "thread-1", runId: "run-1" });
    await bench.clock.advance(0);
    const input = { agent: "research", objective: "Find out" };
    const run = bench.delegator.openRun({ thread: threadKey({}, "thread-1"), runId: "run-1" });
    void run.delegate(input, { tool: "delegate_to_agent", input }).catch(() => undefined);
    await bench.clock.advance(0);
    expect((await list(bench)).threads).toMatchObject([{ detached: 0 }]);
    bench.delegator.detachAll(threadKey({}, "thread-1"));
    for (const { identity } of bench.delegator.list({ thread: threadKey({}, "thread-1"), runId: "run-1" }))
      bench.delegator.active(identity.delegationId)?.apply({ type: "detach" });
    await bench.clock.advance(0);
    expect((await list(bench)).threads).toMatchObject([{ detached: 1 }]);
    await bench.delegator.close("the test is over");
  });

  it.each(["?limit=0", "?limit=101", "?limit=x", "?before=yesterday", "?after=1"])(
    "refuses %s",
    async (query) => {
      const answer = await new AppBench().fetch(`/threads${query}`);
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: "invalid_input" } }]);
    },
  );
});
