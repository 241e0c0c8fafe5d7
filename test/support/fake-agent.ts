import { expect } from "vitest";
import { type Agent, type AgentOptions, createAgent, type RunOptions } from "../../src/core/agent.js";
import type { DriverDescription, DriverOutcome, DriverRequest, DriverSink } from "../../src/core/driver.js";
import { type Run, RunError, type RunResult } from "../../src/core/run.js";
import { isRunTerminal, type RunEvent } from "../../src/core/run-event.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

/** What the program of a fake agent does. */
export type Play = (sink: DriverSink, request: DriverRequest) => Promise<DriverOutcome> | DriverOutcome;

/** A driver that can do everything. */
export const CAPABLE: DriverDescription["capabilities"] = {
  resume: true,
  fork: true,
  approvals: true,
  mcpHttp: true,
  mcpStdio: true,
};

/** How a program ends well. */
export const FINISHED: DriverOutcome = { status: "finished" };

/** An agent whose program is a function, and the requests that its driver got. */
export function agentOf(
  play: Play,
  options: AgentOptions = {},
  capabilities = CAPABLE,
): { readonly agent: Agent; readonly requests: DriverRequest[] } {
  const requests: DriverRequest[] = [];
  const agent = createAgent(
    {
      describe: () => ({ name: "fake", capabilities, environment: ["FAKE_*"] }),
      async start(request, sink) {
        requests.push(request);
        return play(sink, request);
      },
    },
    { clock: new ManualClock(), ...options },
  );
  return { agent, requests };
}

/** Starts a run of a fake agent. */
export function start(play: Play, options: AgentOptions = {}, run: RunOptions = {}): Run {
  return agentOf(play, options).agent.run("Hello", run);
}

/** Reads a run to its end, whatever that is. */
export async function complete(
  run: Run,
): Promise<{ events: RunEvent[]; result?: RunResult; error?: RunError }> {
  const events: RunEvent[] = [];
  for await (const event of run.events) events.push(event);
  try {
    return { events, result: await run.result };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return { events, error };
  }
}

/** One whole message. */
export function say(sink: DriverSink, text: string, messageId = "m1"): void {
  sink.emit({ type: "text.start", messageId });
  sink.emit({ type: "text.delta", messageId, delta: text });
  sink.emit({ type: "text.end", messageId });
}

/** Resolves when the run is cancelled. */
export function untilAborted({ signal }: DriverRequest): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
}

/** The events' types in order. */
export function typesOf(events: readonly RunEvent[]): string[] {
  return events.map(({ type }) => type);
}

/** Checks the promise of `RunEvent`: what is open, what may follow, and that all is closed. */
export function expectWellFormed(events: readonly RunEvent[]): void {
  const texts = new Map<string, string>();
  const tools = new Map<string, "arguments" | "running" | "done">();
  expect(events.filter(({ type }) => type === "run.started")).toHaveLength(1);
  expect(events.filter(isRunTerminal)).toHaveLength(1);
  expect(events[0]?.type).toBe("run.started");
  expect(isRunTerminal(events.at(-1) ?? { type: "" })).toBe(true);
  for (const event of events) {
    const [kind, part] = event.type.split(".");
    if ((kind === "text" || kind === "reasoning") && "messageId" in event) {
      if (part === "start") {
        expect(texts.has(event.messageId)).toBe(false);
        texts.set(event.messageId, kind);
      } else expect(texts.get(event.messageId)).toBe(kind);
      if (part === "end") texts.delete(event.messageId);
    }
    if (kind === "tool" && "toolCallId" in event && event.toolCallId !== undefined) {
      const state = tools.get(event.toolCallId);
      if (part === "start") expect(state).toBeUndefined();
      else if (part === "result") expect(state).toBe("running");
      else expect(state).toBe("arguments");
      const next = { start: "arguments", args: "arguments", end: "running", result: "done" } as const;
      tools.set(event.toolCallId, next[part as keyof typeof next]);
    }
  }
  expect([...texts]).toEqual([]);
  expect([...tools.values()].filter((state) => state !== "done")).toEqual([]);
}
