import { describe, expect, it } from "vitest";
import { createThreadView } from "../../src/client/thread-view.js";
import { collect, customValue, type Frame, framesOf, nameOf, subagentText } from "../support/frames.js";
import { startTestHost, type TestHost, type TestHostOptions } from "../support/host.js";
import { verify } from "../support/verify.js";

/** Asks, so that the test decides when it goes on; the agent repeats the answer. */
const OBJECTIVE = "#say One.\n#input Which?";

const script = {
  turns: [
    [
      {
        tools: [
          { name: "delegate_to_agent", id: "toolu_1", input: { agent: "research", objective: OBJECTIVE } },
        ],
      },
      { say: "It goes on." },
    ],
  ],
};

const detaching = (options: Partial<TestHostOptions> = {}): TestHostOptions => ({
  script,
  policy: { onRunEnd: "detach" },
  ...options,
  host: { syncBudgetMs: 1, onDisconnect: "continue", ...options.host },
});

/** The thread's frames from its beginning up to the first for which `enough` holds. */
async function thread(host: TestHost, enough: (frame: Frame) => boolean, query = ""): Promise<Frame[]> {
  return collect(await host.get(`/threads/thread-1/events${query}`), enough);
}

async function delegationOf(
  host: TestHost,
): Promise<{ readonly delegationId: string; readonly status: string }> {
  const body = await (await host.get("/runs/run-1/delegations")).json();
  return body.delegations[0];
}

/** Waits until the remote asks, whether that was before or after the end of the run. */
async function asked(host: TestHost): Promise<string> {
  const asking = (frame: Frame) => frame.event.name === "subagent.input_required";
  const frames = await thread(host, asking);
  return String(customValue(frames.find(asking)).delegationId);
}

const lateEnd = (frames: Frame[]) => {
  let over = false;
  return (frame: Frame) => {
    frames.push(frame);
    over ||=
      /^(SUBAGENT_FINISHED|CUSTOM\(subagent\.finished\))$/.test(nameOf(frame)) &&
      frame.event.outcome === undefined;
    return over && frame.event.type === "RUN_FINISHED";
  };
};

describe("a delegation that goes on when its run ends", () => {
  it.each(["custom", "native"] as const)(
    "late results are shown, recorded and valid: %s",
    async (encoding) => {
      await using host = await startTestHost(detaching());
      const run = await collect(await host.post("go", { query: `?subagents=${encoding}` }));
      await verify(run);
      expect(run.at(-1)?.event.type).toBe("RUN_FINISHED");
      const delegationId = await asked(host);
      const answered = await host.send(`/delegations/${delegationId}/input`, { text: "the second" });
      expect(answered.status).toBe(202);
      const frames: Frame[] = [];
      await thread(host, lateEnd(frames), `?subagents=${encoding}`);
      await verify(frames);
      const types = frames.map(nameOf);
      const ended = types.indexOf("RUN_FINISHED");
      expect(types.slice(ended + 1)[0]).toBe("RUN_STARTED");
      expect(frames[ended + 1]?.event).toMatchObject({ parentRunId: "run-1", input: { messages: [] } });
      if (encoding === "custom") {
        expect(subagentText(frames)).toBe("One.You answered: the second");
        expect(types.filter((type) => /subagent\.(finished|failed|cancelled)/.test(type))).toHaveLength(1);
      }
      const shown = await (await host.get(`/delegations/${delegationId}`)).json();
      expect(shown).toMatchObject({
        status: "completed",
        result: { summary: "You answered: the second" },
      });
    },
  );

  it("the card of its run shows all of it, and no other run appears", async () => {
    await using host = await startTestHost(detaching());
    await collect(await host.post("go"));
    await host.send(`/delegations/${await asked(host)}/input`, { text: "x" });
    const reducer = createThreadView();
    const frames: Frame[] = [];
    await thread(host, lateEnd(frames));
    for (const { id, event } of frames) reducer.apply({ ...(id === undefined ? {} : { cursor: id }), event });
    expect(reducer.view.runs).toHaveLength(1);
    const tool = reducer.run("run-1")?.items.find((item) => item.kind === "tool");
    const card = tool?.kind === "tool" ? tool.subagents[0] : undefined;
    expect(card).toMatchObject({ state: "done", detached: true });
    expect(card?.items.map((item) => (item.kind === "text" ? item.text : item.kind))).toEqual([
      "One.",
      "You answered: x",
    ]);
  });

  it("a person's next run begins in between, and what is late stands within it", async () => {
    await using host = await startTestHost(detaching());
    await collect(await host.post("go"));
    const delegationId = await asked(host);
    await collect(await host.post("next", { runId: "run-2" }));
    const stream = framesOf(await host.get("/threads/thread-1/events"));
    await host.send(`/delegations/${delegationId}/input`, { text: "x" });
    const frames: Frame[] = [];
    const enough = lateEnd(frames);
    for await (const frame of stream) if (enough(frame)) break;
    await verify(frames);
    // The next run delegates as well, and its delegation asks as well.
    const mine = frames.filter((frame) => customValue(frame).delegationId === delegationId);
    expect(subagentText(mine)).toBe("One.You answered: x");
    expect(mine.map(nameOf).filter((name) => /detached|resumed/.test(name))).toEqual(
      expect.arrayContaining(["CUSTOM(subagent.detached)", "CUSTOM(subagent.resumed)"]),
    );
  });

  it("the run's cancel after its end stops it", async () => {
    await using host = await startTestHost(detaching());
    await collect(await host.post("go"));
    await asked(host);
    expect((await host.send("/runs/run-1/cancel", { reason: "enough" })).status).toBe(202);
    const cancelled: Frame[] = [];
    for await (const frame of framesOf(await host.get("/threads/thread-1/events"))) {
      cancelled.push(frame);
      if (frame.event.name === "subagent.cancelled") break;
    }
    expect(customValue(cancelled.at(-1))).toMatchObject({ reason: "enough", confirmed: true });
    const seen = (await host.remote.seen()).filter(({ method }) => /cancel/i.test(method));
    expect(seen).toHaveLength(1);
  });

  it("a host that closes ends it, with one terminal event and a cancel at the remote", async () => {
    const host = await startTestHost(detaching());
    await using _ = host;
    await collect(await host.post("go"));
    await asked(host);
    const stream = collect(await host.get("/threads/thread-1/events"));
    await host.host.close();
    const names = (await stream).map(nameOf);
    expect(names.filter((name) => /subagent\.(finished|failed|cancelled)/.test(name))).toEqual([
      "CUSTOM(subagent.cancelled)",
    ]);
    expect(names.at(-1)).toBe("RUN_FINISHED");
  });

  it("by default it ends with its run", async () => {
    await using host = await startTestHost(detaching({ policy: {} }));
    const frames = await collect(await host.post("go"));
    await verify(frames);
    expect(frames.map(nameOf)).toContain("CUSTOM(subagent.cancelled)");
    expect(await delegationOf(host)).toMatchObject({ status: "cancelled" });
  });
});
