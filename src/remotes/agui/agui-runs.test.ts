import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import {
  type Call,
  collect,
  finished,
  type Json,
  never,
  REFERENCE,
  remoteOf,
  run,
  serve,
  started,
  TASK,
  text,
} from "../../../test/support/agui-bench.js";
import { HurriedClock } from "../../testing/a2a/hurried-clock.js";

describe("interrupts", () => {
  const interrupt = (...interrupts: Json[]) => ({ ...finished, outcome: { type: "interrupt", interrupts } });

  test("several at once are one question, by their ids", async () => {
    const { url, calls } = await serve(({ send, response }, number) => {
      send(
        started,
        number === 1 ? interrupt({ id: "a", message: "One?" }, { id: "b", message: "Two?" }) : finished,
      );
      response.end();
    });
    const remote = remoteOf(url);
    const signals = await collect(remote.start(TASK, never()), async (signal) => {
      if (signal.type === "input_required")
        await remote.answer?.(REFERENCE, { data: { a: 1, b: 2 } }, never());
    });
    expect(signals[1]).toMatchObject({ prompt: "a: One?\nb: Two?", schema: { required: ["a", "b"] } });
    expect(calls[1]?.body.resume).toEqual([
      { interruptId: "a", status: "resolved", payload: 1 },
      { interruptId: "b", status: "resolved", payload: 2 },
    ]);
  });

  test("a call that nobody answered: asked for by default, or only shown", async () => {
    const events = [
      started,
      { type: "TOOL_CALL_START", toolCallId: "t", toolCallName: "confirm" },
      { type: "TOOL_CALL_ARGS", toolCallId: "t", delta: "{}" },
      { type: "TOOL_CALL_END", toolCallId: "t" },
      finished,
    ];
    const asked = await run(events, {}, { text: "yes" });
    expect(asked.map(({ type }) => type)).toEqual([
      "accepted",
      "tool.start",
      "tool.args",
      "tool.end",
      "input_required",
      "text",
      "completed",
    ]);
    expect((await run(events, { unansweredTools: "complete" })).at(-1)).toEqual({ type: "completed" });
  });

  test("an answer that is not taken leaves the question open; a second one is", async () => {
    const { url } = await serve(({ send, response }, number) => {
      if (number === 2)
        return response.writeHead(400, { "content-type": "application/json" }).end('{"error":"Huh?"}');
      if (number === 3) return response.writeHead(200, { "content-type": "text/event-stream" }).end();
      send(started, number === 1 ? interrupt({ id: "a", message: "One?" }) : finished);
      return response.end();
    });
    const remote = remoteOf(url);
    const refused: unknown[] = [];
    const signals = await collect(remote.start(TASK, never()), async (signal) => {
      if (signal.type !== "input_required") return;
      for (let tries = 0; tries < 2; tries++)
        await remote
          .answer?.(REFERENCE, { text: "x" }, never())
          .catch((error) => refused.push(error.message));
      await remote.answer?.(REFERENCE, { text: "x" }, never());
    });
    expect(refused).toEqual([
      'The agent "painter" answered HTTP 400: Huh?',
      'The agent "painter" ended the call without taking the answer.',
    ]);
    expect(signals.at(-1)).toEqual({ type: "completed" });
    await expect(remote.answer?.(REFERENCE, { text: "x" }, never())).rejects.toMatchObject({
      code: "nothing_asked",
    });
  });

  test("a cancel while it waits is confirmed: nothing runs", async () => {
    const { url } = await serve(({ send, response }) => {
      send(started, interrupt({ id: "a", message: "One?" }));
      response.end();
    });
    const remote = remoteOf(url);
    let answer: unknown;
    const signals = await collect(remote.start(TASK, never()), async (signal) => {
      if (signal.type === "input_required")
        answer = await remote.cancel(REFERENCE, { delegationId: "del-1", reason: "user" }, never());
    });
    expect(answer).toEqual({ outcome: "cancelled" });
    expect(signals.at(-1)?.type).toBe("input_required");
  });
});

describe("cancel", () => {
  const request = { delegationId: "del-1", reason: "user" };

  test("closes the connection, and is never called confirmed", async () => {
    let closed: Promise<unknown> | undefined;
    const { url } = await serve(({ send, response }) => {
      closed = once(response, "close");
      send(started, text("x"));
    });
    const remote = remoteOf(url);
    let answer: unknown;
    const signals = await collect(remote.start(TASK, never()), async (signal) => {
      if (signal.type !== "text") return;
      expect(await remote.look(REFERENCE, never())).toEqual({ over: false, remoteStatus: "working" });
      answer = await remote.cancel(REFERENCE, request, never());
    });
    await closed;
    expect(answer).toMatchObject({ outcome: "pending" });
    expect(signals.map(({ type }) => type)).toEqual(["accepted", "text"]);
    expect(await remote.look(REFERENCE, never())).toEqual({ over: false, remoteStatus: "unknown" });
  });

  test("where the server can be asked, its word counts", async () => {
    let running: Call | undefined;
    const { url, calls } = await serve((call) => {
      if (call.path.startsWith("/stop")) {
        call.response.writeHead(202, { "content-type": "application/json" }).end("{}");
        running?.send({ ...finished, outcome: { type: "cancelled" } });
        running?.response.end();
        return;
      }
      running = call;
      call.send(started, text("x"));
    });
    const remote = remoteOf(url, {
      stopUrl: `${new URL(url).origin}/stop/{runId}/{threadId}`,
    });
    let answer: Promise<unknown> | undefined;
    const signals = await collect(remote.start(TASK, never()), (signal) => {
      if (signal.type === "text") answer = remote.cancel(REFERENCE, request, never());
    });
    expect(await answer).toEqual({ outcome: "cancelled" });
    expect(signals.at(-1)).toEqual({ type: "cancelled" });
    expect(calls[1]?.path).toBe(`/stop/del-1/${calls[0]?.body.threadId}`);
    expect(await remote.look(REFERENCE, never())).toEqual({ over: true, remoteStatus: "cancelled" });
    expect(await remote.cancel(REFERENCE, request, never())).toMatchObject({ outcome: "already_over" });
  });
});

describe("a stream that is lost", () => {
  const withIds = (response: ServerResponse, events: readonly (readonly [string, Json])[]) => {
    if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [id, event] of events) response.write(`id: ${id}\ndata: ${JSON.stringify(event)}\n\n`);
  };

  test("counts as lost by default, and the run is not posted again", async () => {
    const { url, calls } = await serve(({ response }) => {
      withIds(response, [
        ["1", started],
        ["2", text("x")],
      ]);
      response.write("", () => response.socket?.destroy());
    });
    const signals = await collect(remoteOf(url).start(TASK, never()));
    expect(signals.at(-1)).toMatchObject({ type: "disconnected" });
    expect(calls).toHaveLength(1);
  });

  test("repost: the same request with Last-Event-ID goes on after it", async () => {
    const { url, calls } = await serve(({ response }, number) => {
      if (number === 1) {
        withIds(response, [
          ["1", started],
          ["2", text("one ")],
        ]);
        return response.write("", () => response.socket?.destroy());
      }
      if (number === 2) return response.socket?.destroy();
      withIds(response, [
        ["3", text("two")],
        ["4", finished],
      ]);
      return response.end();
    });
    const signals = await collect(
      remoteOf(url, { resume: "repost", clock: new HurriedClock() }).start(TASK, never()),
    );
    expect(signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join("")).toBe("one two");
    expect(signals).toContainEqual(expect.objectContaining({ status: "reconnecting" }));
    expect(signals.at(-1)).toEqual({ type: "completed" });
    expect(calls.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "2", "2"]);
    expect(calls[2]?.body).toEqual(calls[0]?.body);
  });

  test("repost without ids would run the agent twice, so it is not done", async () => {
    const { url, calls } = await serve(({ send, response }) => {
      send(started);
      response.write("", () => response.socket?.destroy());
    });
    const signals = await collect(remoteOf(url, { resume: "repost" }).start(TASK, never()));
    expect(signals.at(-1)?.type).toBe("disconnected");
    expect(calls).toHaveLength(1);
  });
});
