import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { FaceEvent } from "../../src/bridges/a2a/face-host.js";
import type { DriverSink } from "../../src/core/driver.js";
import type { Journal } from "../../src/journal/journal.js";
import { createMemoryJournal } from "../../src/journal/memory-journal.js";
import { say } from "../support/fake-agent.js";
import { allOf, eventsOf, FaceBench, userMessage, type Wire, wireText } from "./face-bench.js";

const EXPOSURE = { reasoning: true, tools: "full", files: true, usage: true } as const;

type Step = (sink: DriverSink, index: number) => void;

const steps: readonly Step[] = [
  (sink, index) => say(sink, "ha", `m${index}`),
  (sink, index) => {
    sink.emit({ type: "text.start", messageId: `t${index}` });
    for (const delta of ["ha", "ha", "", "ho"])
      sink.emit({ type: "text.delta", messageId: `t${index}`, delta });
    sink.emit({ type: "text.end", messageId: `t${index}` });
  },
  (sink, index) => {
    sink.emit({ type: "reasoning.start", messageId: `r${index}` });
    sink.emit({ type: "reasoning.delta", messageId: `r${index}`, delta: "hm" });
    sink.emit({ type: "reasoning.end", messageId: `r${index}` });
  },
  (sink, index) => {
    const toolCallId = `c${index}`;
    sink.emit({ type: "tool.start", toolCallId, name: "Write" });
    sink.emit({ type: "tool.args", toolCallId, delta: '{"file_path":' });
    sink.emit({ type: "tool.args", toolCallId, delta: '"a.ts"}' });
    sink.emit({ type: "tool.end", toolCallId });
    sink.emit({ type: "tool.result", toolCallId, content: "ok", isError: false });
  },
  (sink) => sink.emit({ type: "usage", usage: { inputTokens: 1, outputTokens: 2 } }),
];

/** What a client makes of a stream, by the rules of the specification alone (3.2). */
function folded(events: readonly Wire[]): Wire {
  const [{ task }] = events;
  const artifacts = new Map<string, Wire>(
    (task.artifacts ?? []).map((artifact: Wire) => [artifact.artifactId, structuredClone(artifact)]),
  );
  let { status } = task;
  for (const { statusUpdate, artifactUpdate } of events.slice(1)) {
    if (statusUpdate !== undefined) status = statusUpdate.status;
    if (artifactUpdate === undefined) continue;
    const { artifact, append } = artifactUpdate;
    const known = artifacts.get(artifact.artifactId);
    if (append) {
      expect(known, "never an append to what is not known").toBeDefined();
      known.parts.push(...artifact.parts);
    } else artifacts.set(artifact.artifactId, structuredClone(artifact));
  }
  return { status, artifacts: [...artifacts.values()].map(compact) };
}

/** Pieces of text are one text. */
function compact({ artifactId, name, parts }: Wire): Wire {
  const joined: Wire[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (typeof part.text === "string" && typeof last?.text === "string") last.text += part.text;
    else joined.push({ ...part });
  }
  return { artifactId, name, parts: joined };
}

describe("subscribing", () => {
  it("at any moment gives the same task in the end: nothing is lost, nothing comes twice", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(steps.length - 1), { minLength: 1, maxLength: 12 }),
        fc.nat(12),
        async (script, place) => {
          await using bench = await FaceBench.start({ a2a: { agents: { helper: { exposure: EXPOSURE } } } });
          const { id } = await bench.send();
          const { run } = bench;
          let late: Promise<Response> | undefined;
          const first = bench.call("SubscribeToTask", { id });
          for (const [index, step] of script.entries()) {
            if (index === place) late = bench.call("SubscribeToTask", { id });
            // Sometimes readers are told between two steps, sometimes not.
            if (index % 3 === 0) await bench.clock.advance(0);
            steps[step]?.(run.sink, index);
          }
          late ??= bench.call("SubscribeToTask", { id });
          await late;
          run.finish({ status: "finished", text: "done" });
          const results = await Promise.all(
            [first, late].map(async (response) => {
              const events: Wire[] = [];
              for await (const { result } of eventsOf(await response)) events.push(result);
              return folded(events);
            }),
          );
          const task = await bench.task(id);
          const truth = { status: task.status, artifacts: task.artifacts.map(compact) };
          for (const result of results) expect(result).toEqual(truth);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("after a restart", () => {
  const shared = () => {
    const journal = createMemoryJournal<FaceEvent>();
    const open: Journal<FaceEvent> = {
      append: (entry) => journal.append(entry),
      read: (thread, options) => journal.read(thread, options),
      head: (thread) => journal.head(thread),
      close: async () => undefined,
    };
    return open;
  };

  it("a task that was over is found in the journal, by its caller alone", async () => {
    const journal = shared();
    const first = await FaceBench.start({ host: { journal } });
    const { id } = await first.send("What is it?", { contextId: "my context" });
    say(first.run.sink, "It is 42.");
    first.run.finish({ status: "finished", text: "It is 42." });
    const before = await first.task(id);
    await first.host.close();
    await using second = await FaceBench.start({ host: { journal } });
    const after = await second.task(id);
    expect(after.artifacts).toEqual(before.artifacts);
    expect(after.status).toEqual(before.status);
    expect(after).toMatchObject({ contextId: "my context", history: [{ parts: [{ text: "What is it?" }] }] });
    expect((await second.ask("GetTask", { id, tenant: "other" })).error.code).toBe(-32001);
    expect((await second.ask("CancelTask", { id })).error.code).toBe(-32002);
  });

  it("case 035: one whose end the journal did not take is told as failed, to all who wait for it", async () => {
    const journal = shared();
    const full: Journal<FaceEvent> = {
      ...journal,
      append: async (entry) => {
        if (entry.event.type === "run.finished") throw new Error("the disk is full");
        return journal.append(entry);
      },
    };
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await using bench = await FaceBench.start({ host: { journal: full } });
    const streaming = allOf(await bench.call("SendStreamingMessage", { message: userMessage("Hello") }));
    const blocking = bench.ask("SendMessage", {
      message: userMessage("Hello", { contextId: "other", messageId: "other" }),
    });
    await expect.poll(() => bench.runs.length).toBe(2);
    for (const { sink, finish } of bench.runs) {
      say(sink, "Half");
      finish();
    }
    const events = await streaming;
    expect(wireText(events)).toBe("Half");
    expect(events.at(-1)?.statusUpdate?.status.state).toBe("TASK_STATE_FAILED");
    expect((await blocking).result.task.status.state).toBe("TASK_STATE_FAILED");
    expect(logged).toHaveBeenCalled();
    logged.mockRestore();
  });

  it("case 035: one that was at work is told as failed, and not as working for ever", async () => {
    const journal = shared();
    await using first = await FaceBench.start({ host: { journal } });
    const { id } = await first.send();
    say(first.run.sink, "Half");
    await vi.waitFor(async () => expect((await first.task(id)).artifacts).toHaveLength(1));
    await using second = await FaceBench.start({ host: { journal } });
    const task = await second.task(id);
    expect(task.status).toMatchObject({
      state: "TASK_STATE_FAILED",
      message: { parts: [{ text: "The agent's host ended before this task did." }] },
    });
    expect(task.artifacts[0].parts).toEqual([{ text: "Half" }]);
    const message = userMessage("Go on", { taskId: id });
    expect((await second.ask("SendMessage", { message })).error.code).toBe(-32004);
  });

  it("what the journal does not have is not found, whatever the id holds", async () => {
    await using bench = await FaceBench.start();
    for (const id of ["task-1.Y29udGV4dA", "x", "a.b", "..", `task.${"A".repeat(5_000)}`, "task-1.%00"]) {
      expect((await bench.ask("GetTask", { id })).error.code, id).toBe(-32001);
    }
  });
});
