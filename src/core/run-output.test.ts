import { describe, expect, it } from "vitest";
import { settle } from "../../test/support/deferred.js";
import { complete, expectWellFormed, FINISHED, say, start } from "../../test/support/fake-agent.js";
import type { RunEvent } from "./run-event.js";

describe("the layers of a result stay apart (S1 20.2)", () => {
  it("native subagents' words, tool results and artifacts are not in text, and nothing but the program's output is in raw", async () => {
    const { result } = await complete(
      start((sink) => {
        sink.raw("stdout", '{"type":"result"}\n');
        sink.emit({ type: "tool.start", toolCallId: "t", name: "mcp__a2a-subagents__delegate_to_agent" });
        sink.emit({ type: "tool.args", toolCallId: "t", delta: '{"agent":"research"}' });
        sink.emit({ type: "tool.end", toolCallId: "t" });
        sink.emit({ type: "text.start", messageId: "n", parentToolCallId: "t" });
        sink.emit({ type: "text.delta", messageId: "n", parentToolCallId: "t", delta: "native words" });
        sink.emit({ type: "text.end", messageId: "n", parentToolCallId: "t" });
        sink.emit({
          type: "tool.result",
          toolCallId: "t",
          content: "host://delegations/d/artifacts/a",
          isError: false,
        });
        say(sink, "Done.");
        return { status: "finished", terminal: { type: "result" } };
      }),
    );
    expect(result?.text).toBe("Done.");
    expect(result?.summary).toBe("Done.");
    expect(result?.raw).toEqual({ stdout: '{"type":"result"}\n', stderr: "", terminal: { type: "result" } });
    expect(result?.transcript).toEqual([
      {
        type: "tool",
        toolCallId: "t",
        name: "mcp__a2a-subagents__delegate_to_agent",
        input: '{"agent":"research"}',
        result: "host://delegations/d/artifacts/a",
        isError: false,
      },
      { type: "text", messageId: "m1", text: "Done." },
    ]);
  });

  it("what a service does at the end leaves no trace in raw or text", async () => {
    const { result } = await complete(
      start(
        (sink) => {
          sink.raw("stdout", "out");
          return FINISHED;
        },
        {
          services: [
            {
              name: "remote",
              attach: async () => ({ env: { WIRE: "dump" }, detach: async () => undefined }),
            },
          ],
        },
      ),
    );
    expect(result).toMatchObject({ text: "", transcript: [], raw: { stdout: "out", stderr: "" } });
    expect(JSON.stringify(result)).not.toContain("dump");
  });

  it("keeps the last MiB of each output, and says that there was more", async () => {
    const { result } = await complete(
      start((sink) => {
        for (let index = 0; index < 30; index++) sink.raw("stdout", String(index % 10).repeat(100_000));
        sink.raw("stderr", "e".repeat(2_000_000));
        return FINISHED;
      }),
    );
    expect(result?.raw.stdout.length).toBeLessThan(1_100_000);
    expect(result?.raw.stdout).toMatch(/^\[earlier output dropped\]\n/);
    expect(result?.raw.stdout.endsWith("9".repeat(100_000))).toBe(true);
    expect(result?.raw.stderr.length).toBeLessThan(1_100_000);
  });
});

describe("reading events", () => {
  it("a reader that is behind gets adjacent deltas of one text as one; nothing else is merged", async () => {
    const run = start((sink) => {
      sink.emit({ type: "text.start", messageId: "a" });
      for (const delta of ["one ", "two ", "three"]) sink.emit({ type: "text.delta", messageId: "a", delta });
      sink.emit({ type: "reasoning.start", messageId: "r" });
      sink.emit({ type: "text.delta", messageId: "a", delta: " four" });
      sink.emit({ type: "reasoning.delta", messageId: "r", delta: "hm" });
      sink.emit({ type: "text.delta", messageId: "a", delta: "!" });
      return FINISHED;
    });
    await run.result;
    const { events } = await complete(run);
    expect(events.flatMap((event) => ("delta" in event ? [event.delta] : []))).toEqual([
      "one two three",
      " four",
      "hm",
      "!",
    ]);
    expectWellFormed(events);
  });

  it("a reader that keeps up gets every event as it was emitted", async () => {
    const run = start(async (sink) => {
      sink.emit({ type: "text.start", messageId: "a" });
      for (const delta of ["1", "2", "3"]) {
        sink.emit({ type: "text.delta", messageId: "a", delta });
        await settle();
      }
      return FINISHED;
    });
    const { events } = await complete(run);
    expect(events.flatMap((event) => ("delta" in event ? [event.delta] : []))).toEqual(["1", "2", "3"]);
  });

  it("with onEvent nothing is merged, and run.events is empty", async () => {
    const seen: RunEvent[] = [];
    const run = start(
      (sink) => {
        sink.emit({ type: "text.start", messageId: "a" });
        for (const delta of ["1", "2", "3"]) sink.emit({ type: "text.delta", messageId: "a", delta });
        return FINISHED;
      },
      {},
      { onEvent: (event) => seen.push(event) },
    );
    await run.result;
    expect(seen.filter(({ type }) => type === "text.delta")).toHaveLength(3);
    expect((await complete(run)).events).toEqual([]);
  });
});
