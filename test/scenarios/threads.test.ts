import { describe, expect, it } from "vitest";
import type { DriverRequest } from "../../src/core/driver.js";
import { createHost, type Host } from "../../src/host/host.js";
import { byHeader } from "../support/app-bench.js";
import { agentOf, CAPABLE, type Play } from "../support/fake-agent.js";
import { collect, type Frame } from "../support/frames.js";
import { verify } from "../support/verify.js";

let sessions = 0;

/** Answers, and leaves a conversation behind to go on from. */
const answers: Play = (sink, { resume, workspace }) => {
  sink.emit({ type: "text.start", messageId: "m" });
  sink.emit({ type: "text.delta", messageId: "m", delta: "An answer." });
  sink.emit({ type: "text.end", messageId: "m" });
  const known = resume?.fork === false ? resume.checkpoint.session : undefined;
  const session = known ?? `session-${++sessions}`;
  return { status: "finished", checkpoint: { driver: "fake", workspace, session } };
};

interface Bench extends AsyncDisposable {
  readonly requests: DriverRequest[];
  post(
    threadId: string,
    messages: readonly object[],
    options?: { readonly thread?: object; readonly headers?: Record<string, string> },
  ): Promise<Frame[]>;
}

async function bench(play: Play = answers, capabilities = CAPABLE, authorise = false): Promise<Bench> {
  const { agent, requests } = agentOf(play, {}, capabilities);
  const host: Host = await createHost({
    agents: { claude: agent },
    ...(authorise ? { authorise: byHeader } : {}),
  });
  let runs = 0;
  return {
    requests,
    async post(threadId, messages, { thread, headers = {} } = {}) {
      const body = {
        threadId,
        runId: `run-${++runs}`,
        messages,
        ...(thread === undefined ? {} : { forwardedProps: { troupe: { thread } } }),
      };
      const response = await host.fetch(
        new Request("http://127.0.0.1:4100/agents/claude/run", {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        }),
      );
      if (response.status !== 200) throw new Error(await response.text());
      const frames = await collect(response);
      await verify(frames);
      return frames;
    },
    [Symbol.asyncDispose]: () => host.close(),
  };
}

const user = (content: string) => ({ id: `u-${content}`, role: "user", content });
const assistant = (content: string, more: object = {}) => ({
  ...{ id: `a-${content}`, role: "assistant", content },
  ...more,
});
const errorOf = (frames: readonly Frame[]) => frames.at(-1)?.event;

/** As a client's own list of messages grows. */
const BEFORE = [user("My name is Ada."), assistant("Hello Ada.")];

describe("a client's older messages", () => {
  it("a new thread gets them once, compactly, before the prompt; the thread then goes on with the new ones alone", async () => {
    await using host = await bench();
    const remote = assistant("a subagent's words", { subagentRunId: "del-1" });
    const first = await host.post("t-1", [...BEFORE, remote, user("What is my name?")]);
    expect(host.requests[0]?.prompt).toBe(
      "What was said in this conversation so far:\n\nUser: My name is Ada.\n\nAssistant: Hello Ada.\n\n" +
        "The user says now:\n\nWhat is my name?",
    );
    // The stream's readers know them already.
    expect(JSON.stringify(first)).not.toContain("Hello Ada.");

    const all = [...BEFORE, remote, user("What is my name?"), assistant("An answer."), user("And yours?")];
    await host.post("t-1", all);
    expect(host.requests[1]).toMatchObject({
      prompt: "And yours?",
      resume: { checkpoint: { session: `session-${sessions}` }, fork: false },
    });
  });

  it("are told again when nothing of the first time was kept: it failed", async () => {
    let broken = true;
    await using host = await bench((sink, request) => {
      if (broken) return { status: "failed" };
      return answers(sink, request);
    });
    expect(errorOf(await host.post("t-1", [...BEFORE, user("Who am I?")]))).toMatchObject({
      type: "RUN_ERROR",
    });
    broken = false;
    await host.post("t-1", [...BEFORE, user("Who am I?"), user("Hello?")]);
    expect(host.requests[1]?.prompt.match(/My name is Ada/g)).toHaveLength(1);
    expect(host.requests[1]?.prompt).toMatch(/The user says now:\n\nWho am I\?\n\nHello\?$/);
  });
});

describe("a run's wish for its thread", () => {
  it("new: starts over, and the old conversation is told only as far as the client does", async () => {
    await using host = await bench();
    await host.post("t-1", [user("One")]);
    await host.post("t-1", [user("Two")], { thread: { mode: "new" } });
    expect(host.requests[1]).toMatchObject({ prompt: "Two" });
    expect(host.requests[1]).not.toHaveProperty("resume");
    await host.post("t-1", [user("One"), assistant("Edited."), user("Three")], { thread: { mode: "new" } });
    expect(host.requests[2]?.prompt).toContain("Assistant: Edited.");
    const latest = `session-${sessions}`;
    await host.post("t-1", [user("Four")], { thread: { mode: "continue" } });
    expect(host.requests[3]?.resume?.checkpoint.session).toBe(latest);
  });

  it("resume: insists on a conversation, and starts no program without", async () => {
    await using host = await bench();
    expect(errorOf(await host.post("t-1", [user("One")], { thread: { mode: "resume" } }))).toMatchObject({
      type: "RUN_ERROR",
      code: "resume_failed",
    });
    expect(host.requests).toEqual([]);
    await host.post("t-1", [user("One")]);
    await host.post("t-1", [...BEFORE, user("Two")], { thread: { mode: "resume" } });
    expect(host.requests[1]).toMatchObject({ prompt: "Two", resume: { fork: false } });
  });

  it("fork: begins with the conversation of another thread, which stays as it is", async () => {
    await using host = await bench();
    await host.post("t-1", [user("One")]);
    const original = `session-${sessions}`;
    await host.post("t-2", [...BEFORE, user("Aside")], { thread: { mode: "fork", from: "t-1" } });
    expect(host.requests[1]).toMatchObject({
      prompt: "Aside",
      resume: { checkpoint: { session: original }, fork: true },
    });
    const forked = `session-${sessions}`;
    expect(forked).not.toBe(original);
    await host.post("t-1", [user("Two")]);
    await host.post("t-2", [user("Aside again")]);
    expect(host.requests.slice(2).map(({ resume }) => resume?.checkpoint.session)).toEqual([
      original,
      forked,
    ]);
  });

  it("fork: another tenant's thread is not there", async () => {
    await using host = await bench(answers, CAPABLE, true);
    const as = (tenant: string) => ({ headers: { authorization: `tenant ${tenant}` } });
    await host.post("t-1", [user("Secret")], as("acme"));
    const fork = { thread: { mode: "fork", from: "t-1" } };
    const stolen = await host.post("t-2", [user("Tell")], { ...fork, ...as("globex") });
    expect(errorOf(stolen)).toMatchObject({ code: "resume_failed" });
    expect(host.requests).toHaveLength(1);
    await host.post("t-2", [user("Tell")], { ...fork, ...as("acme") });
    expect(host.requests).toHaveLength(2);
  });

  it.each([
    ["resume", { ...CAPABLE, resume: false }, "resume a thread"],
    ["fork", { ...CAPABLE, fork: false }, "fork a thread"],
  ])("%s: refused before launch where the program cannot", async (mode, capabilities, what) => {
    await using host = await bench(answers, capabilities);
    expect(errorOf(await host.post("t-1", [user("One")], { thread: { mode } }))).toMatchObject({
      type: "RUN_ERROR",
      code: "capability_unsupported",
      message: expect.stringContaining(what),
    });
    expect(host.requests).toEqual([]);
  });

  it("one that nobody knows is refused", async () => {
    await using host = await bench();
    await expect(host.post("t-1", [user("One")], { thread: { mode: "branch" } })).rejects.toThrow(
      "forwardedProps.troupe.thread.mode",
    );
    expect(host.requests).toEqual([]);
  });

  it("in code it is the same", async () => {
    const { agent, requests } = agentOf(answers);
    const host = await createHost({ agents: { claude: agent } });
    await using _ = { [Symbol.asyncDispose]: () => host.close() };
    await host.run("claude", "One", { threadId: "t-1" }).run.result;
    await host.run("claude", "Two", { threadId: "t-2", threadMode: "fork", threadFrom: "t-1" }).run.result;
    expect(requests[1]?.resume).toMatchObject({
      fork: true,
      checkpoint: { session: `session-${sessions - 1}` },
    });
    const wrong = host.run("claude", "Three", { threadFrom: "t-1" }).run.result;
    await expect(wrong).rejects.toMatchObject({ code: "invalid_input" });
  });
});
