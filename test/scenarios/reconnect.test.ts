import { describe, expect, it } from "vitest";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { collect, type Frame, framesOf, nameOf } from "../support/frames.js";
import { startTestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const isEnd = ({ event }: Frame) => event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";

describe("scenario 7: reconnecting", () => {
  it("in mid-delegation: the rest follows after Last-Event-ID, each frame once, one terminal", async () => {
    await using host = await startTestHost();
    const first: Frame[] = [];
    // Leaving the loop closes the connection.
    for await (const frame of framesOf(await host.post("#chunks 5\n#delay 100\n#chunks 5"))) {
      first.push(frame);
      if (
        frame.event.name === "subagent.text.delta" &&
        first.filter(({ event }) => event.name === "subagent.text.delta").length === 3
      )
        break;
    }
    const last = first.at(-1)?.id ?? "";
    const rest = await collect(
      await host.get("/threads/thread-1/events?subagents=custom", { "last-event-id": last }),
      isEnd,
    );
    const whole = [...first, ...rest];
    await verify(whole);
    expect(
      rest
        .map(({ id }) => Number(id))
        .every((id, index, ids) => id > Number(index === 0 ? last : ids[index - 1])),
    ).toBe(true);
    const replay = await collect(await host.get("/threads/thread-1/events"), isEnd);
    expect(whole).toEqual(replay);
    expect(whole.filter(({ event }) => event.name === "subagent.finished")).toHaveLength(1);
    expect(whole.filter(isEnd)).toHaveLength(1);
  });

  it("with every Last-Event-ID exactly the missing frames come, after the run too", async () => {
    await using host = await startTestHost();
    const all = await collect(await host.post("#chunks 20\n#artifact a.md 10"));
    for (let index = 0; index < all.length - 1; index++) {
      const rest = await collect(
        await host.get("/threads/thread-1/events", { "last-event-id": all[index]?.id ?? "" }),
        isEnd,
      );
      expect(rest).toEqual(all.slice(index + 1));
    }
  });

  it("case 041: a thread with a failed run replays, and passes the verifier", async () => {
    const script = { turns: [[{ say: "half a" }, { exit: 3 }]] };
    await using host = await startTestHost({ script });
    const failed = await collect(await host.post("first"));
    expect(failed.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "program_died" });
    await collect(await host.post("second", { runId: "run-2" }));
    let ends = 0;
    const replay = await collect(
      await host.get("/threads/thread-1/events"),
      (frame) => isEnd(frame) && ++ends === 2,
    );
    await verify(replay);
    expect(replay.filter(({ event }) => event.type === "RUN_STARTED")).toHaveLength(2);
  });

  it("a repeated POST of a known run attaches: the agent does not run twice", async () => {
    await using host = await startTestHost();
    const prompt = "#chunks 4\n#delay 80\n#chunks 4";
    const [original, again] = await Promise.all([
      host.post(prompt).then((response) => collect(response)),
      // After the first has been taken in.
      host
        .get("/healthz")
        .then(() => host.post(prompt))
        .then((response) => collect(response)),
    ]);
    expect(again).toEqual(original);
    const resumed = await collect(
      await host.post(prompt, { headers: { "last-event-id": original[4]?.id ?? "" } }),
    );
    expect(resumed).toEqual(original.slice(5));
    const nothing = await collect(
      await host.post(prompt, { headers: { "last-event-id": original.at(-1)?.id ?? "" } }),
    );
    expect(nothing).toEqual([]);
    expect((await host.remote.seen()).filter(({ method }) => /send/i.test(method))).toHaveLength(1);
  });

  it("connect replays a thread and follows the active run to its end", async () => {
    await using host = await startTestHost();
    const running = host.post("#chunks 3\n#delay 80\n#chunks 3").then((response) => collect(response));
    await host.get("/healthz");
    const connected = await collect(await host.send("/threads/thread-1/connect"));
    expect(connected).toEqual(await running);
    expect(await collect(await host.send("/threads/thread-1/connect"))).toEqual(connected);
    expect(await collect(await host.send("/threads/empty/connect"))).toEqual([]);
  });

  it("RUN_STARTED echoes the new messages of the person only", async () => {
    await using host = await startTestHost();
    const frames = await collect(await host.post("#say hello"));
    const input = frames[0]?.event.input as { messages: unknown[] };
    expect(input.messages).toEqual([{ id: "run-1-user", role: "user", content: "#say hello" }]);
  });

  it("a second run in a busy thread is refused, in another thread it works", async () => {
    await using host = await startTestHost();
    const response = await host.post("#say a\n#hang");
    const reader = framesOf(response);
    // Not before there is something to cancel.
    for (let name = ""; name !== "CUSTOM(subagent.text.delta)"; ) name = nameOf((await reader.next()).value);
    const refused = await host.post("other", { runId: "run-2" });
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ error: { code: "thread_busy", retryable: true } });
    const other = await collect(await host.post("#say b", { runId: "run-2", threadId: "thread-2" }));
    expect(other.at(-1)?.event.type).toBe("RUN_FINISHED");
    await host.send("/runs/run-1/cancel");
    const rest: Frame[] = [];
    for await (const frame of reader) rest.push(frame);
    expect(rest.map(nameOf)).toContain("CUSTOM(subagent.cancelled)");
  });

  it.each([
    ["cancels the run after the grace", "cancel", "cancelled"],
    ["does not, when the host says so", "continue", "running"],
  ] as const)("when nobody watches any more: %s", async (_title, onDisconnect, expected) => {
    const clock = new ManualClock();
    await using host = await startTestHost({ host: { clock, onDisconnect }, agent: { clock } });
    for await (const frame of framesOf(await host.post("#say a\n#hang")))
      if (frame.event.name === "subagent.text.delta") break;
    const watching = new AbortController();
    const events = framesOf(await host.get("/threads/thread-1/events", {}, watching.signal));
    await events.next();
    await clock.advance(40_000);
    expect(await status(host.url)).toBe("running");
    watching.abort();
    await events.next().catch(() => undefined);
    // The host learns of the closed connection by the socket; only then the grace begins.
    const statusAfterGrace = async () => {
      await clock.advance(40_000);
      return status(host.url);
    };
    await expect.poll(statusAfterGrace).toBe(expected);
  });

  it("cases 084, 086: heartbeats go out while nothing happens", async () => {
    const clock = new ManualClock();
    await using host = await startTestHost({ host: { clock } });
    const response = await host.get("/threads/nothing-yet/events");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let beats = 0; beats < 3; beats = text.split(": hb").length - 1) {
      const chunk = reader?.read();
      await clock.advance(15_000);
      text += (await chunk)?.value ?? "";
    }
    expect(text).toMatch(/^: open\n\n: hb *\n\n/);
    await reader?.cancel();
  });
});

async function status(url: string): Promise<string> {
  const run = (await (await fetch(`${url}/runs/run-1`)).json()) as { status: string };
  return run.status;
}
