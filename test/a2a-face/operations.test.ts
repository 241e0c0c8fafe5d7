import { describe, expect, it, vi } from "vitest";
import { TroupeError } from "../../src/core/errors.js";
import { say } from "../support/fake-agent.js";
import { allOf, eventsOf, FaceBench, userMessage, wireText } from "./face-bench.js";

describe("SendMessage (A2A 1.0, 3.1.1)", () => {
  it("waits for the end, or answers at once with the task when told to", async () => {
    await using bench = await FaceBench.start();
    const task = await bench.send();
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/);
    bench.run.finish();
    const waiting = bench.ask("SendMessage", { message: userMessage("Hello") });
    await vi.waitFor(() => expect(bench.runs).toHaveLength(2));
    say(bench.run.sink, "Hi.");
    bench.run.finish({ status: "finished", text: "Hi." });
    const { result } = await waiting;
    expect(result.task.status).toMatchObject({
      state: "TASK_STATE_COMPLETED",
      message: { parts: [{ text: "Hi." }], role: "ROLE_AGENT" },
    });
    expect(wireText(result.task.artifacts)).toBe("Hi.");
    expect(result.task.history.map(({ role }: { role: string }) => role)).toEqual(["ROLE_USER"]);
  });

  it("the same message twice is one task, and the same id for other words is not", async () => {
    await using bench = await FaceBench.start();
    const message = userMessage("Hello", { messageId: "same" });
    const first = await bench.send("", message);
    const second = await bench.send("", message);
    const other = await bench.send("", { ...message, parts: [{ text: "Something else" }] });
    expect(second.id).toBe(first.id);
    expect(other.id).not.toBe(first.id);
    expect(bench.runs).toHaveLength(2);
    // Who asks for the task by its id had the answer.
    await bench.task(first.id);
    const meant = await bench.send("", message);
    expect([first.id, other.id]).not.toContain(meant.id);
  });

  it("case 073: a client's own context id is taken, and a new task there goes on with the conversation", async () => {
    await using bench = await FaceBench.start();
    const first = await bench.send("One", { contextId: "my context/ü" });
    expect(first.contextId).toBe("my context/ü");
    const busy = await bench.send("Too early", { contextId: "my context/ü" });
    expect(busy.error).toMatchObject({ code: -32004, message: expect.stringContaining("still working") });
    bench.run.finish({
      ...{ status: "finished" },
      checkpoint: { driver: "fake", workspace: process.cwd(), session: "s1" },
    });
    await bench.clock.advance(0);
    const second = await bench.send("Two", { contextId: "my context/ü" });
    expect(second.contextId).toBe(first.contextId);
    expect(second.id).not.toBe(first.id);
    expect(bench.run.request.resume?.checkpoint.session).toBe("s1");
    const elsewhere = await bench.send("Three", { contextId: "another" });
    expect(elsewhere.contextId).toBe("another");
    expect(bench.run.request.resume).toBeUndefined();
  });

  it.each([
    ["no message", {}, -32602],
    ["no parts", { message: { messageId: "m", role: "ROLE_USER", parts: [] } }, -32602],
    ["no message id", { message: { role: "ROLE_USER", parts: [{ text: "x" }] } }, -32602],
    ["no role", { message: { messageId: "m", parts: [{ text: "x" }] } }, -32602],
    [
      "an agent's message",
      { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x" }] } },
      -32602,
    ],
    ["an empty part", { message: { messageId: "m", role: "ROLE_USER", parts: [{}] } }, -32602],
    ["blank text", { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "  " }] } }, -32602],
    [
      "control characters",
      { message: { messageId: "m", contextId: "a\nb", role: "ROLE_USER", parts: [{ text: "x" }] } },
      -32602,
    ],
    [
      "an unknown task",
      { message: { messageId: "m", taskId: "mine", role: "ROLE_USER", parts: [{ text: "x" }] } },
      -32001,
    ],
    [
      "bytes",
      { message: { messageId: "m", role: "ROLE_USER", parts: [{ raw: "/wD/", mediaType: "image/png" }] } },
      -32005,
    ],
    [
      "pictures wanted",
      { message: userMessage("x"), configuration: { acceptedOutputModes: ["image/png"] } },
      -32005,
    ],
    [
      "push wanted",
      { message: userMessage("x"), configuration: { taskPushNotificationConfig: { url: "http://x" } } },
      -32003,
    ],
    ["a part that is nothing", { message: userMessage("x", { parts: [null] }) }, -32602],
    ["a part that is text", { message: userMessage("x", { parts: ["x"] }) }, -32602],
    ["half a character in a context", { message: userMessage("x", { contextId: "a\ud800" }) }, -32602],
    ["half a character in a message's id", { message: userMessage("x", { messageId: "\udc00" }) }, -32602],
    ["half a character in a tenant", { tenant: "\ud800", message: userMessage("x") }, -32602],
    ["negative history", { message: userMessage("x"), configuration: { historyLength: -1 } }, -32602],
  ])("refuses %s", async (_name, params, code) => {
    await using bench = await FaceBench.start();
    expect((await bench.ask("SendMessage", params)).error).toMatchObject({ code });
    expect((await bench.ask("SendStreamingMessage", params)).error).toMatchObject({ code });
    expect(bench.runs).toEqual([]);
  });

  it("takes text, data, references and text files, and `text` as an output mode", async () => {
    await using bench = await FaceBench.start();
    const parts = [
      { text: "Look:" },
      { data: { a: 1 } },
      { url: "https://x.example/a", filename: "a.md" },
      { raw: Buffer.from("inside").toString("base64"), mediaType: "text/markdown", filename: "b.md" },
    ];
    const configuration = { acceptedOutputModes: ["text"], returnImmediately: true };
    await bench.ask("SendMessage", { message: userMessage("", { parts }), configuration });
    expect(bench.run.request.prompt).toBe(
      'Look:\n\n```json\n{\n  "a": 1\n}\n```\n\na.md: https://x.example/a\n\nb.md:\ninside',
    );
  });
});

describe("a task that is not at rest", () => {
  it("refuses messages while it works, and for ever when it is over (3.4.2)", async () => {
    await using bench = await FaceBench.start();
    const { id, contextId } = await bench.send();
    const working = await bench.send("More", { taskId: id });
    expect(working.error).toMatchObject({ code: -32004 });
    bench.run.finish();
    await bench.clock.advance(0);
    const over = await bench.send("More", { taskId: id });
    expect(over.error).toMatchObject({ code: -32004 });
    const wrong = await bench.send("More", { taskId: id, contextId: `${contextId}x` });
    expect(wrong.error).toMatchObject({ code: -32602 });
    expect(bench.runs).toHaveLength(1);
  });
});

describe("questions", () => {
  const question = {
    kind: "permission" as const,
    title: "May Bash run: make",
    tool: "Bash",
    input: { command: "make" },
  };

  it("case 072: the stream ends at a question, the answer goes on with the same task to its end", async () => {
    await using bench = await FaceBench.start();
    const response = await bench.call("SendStreamingMessage", { message: userMessage("Build") });
    const events = allOf(response);
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    const { run } = bench;
    const decision = run.sink.approve(question, new AbortController().signal);
    const asked = (await events).at(-1).statusUpdate;
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(asked.status.message.parts[0]).toEqual({ text: "May Bash run: make" });
    expect(asked.status.message.parts[1].data).toMatchObject({
      tool: "Bash",
      input: { command: "make" },
      schema: { required: ["decision"] },
    });
    const answer = userMessage("", { taskId: asked.taskId, parts: [{ data: { decision: "approve" } }] });
    const going = await bench.call("SendStreamingMessage", { message: answer });
    expect(await decision).toEqual({ decision: "approve" });
    run.finish({ status: "finished", text: "Built." });
    const rest = await allOf(going);
    expect(rest[0].task).toMatchObject({ id: asked.taskId, status: { state: "TASK_STATE_WORKING" } });
    expect(rest[0].task.history.map(({ role }: { role: string }) => role)).toEqual([
      "ROLE_USER",
      "ROLE_AGENT",
      "ROLE_USER",
    ]);
    expect(rest.at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
    // The same answer once more is not an answer to anything else.
    const again = await bench.ask("SendMessage", { message: answer });
    expect(again.result.task).toMatchObject({ id: asked.taskId, status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("two at once are asked one after the other, and a blocking send waits for the next", async () => {
    await using bench = await FaceBench.start();
    const { id } = await bench.send("Build");
    const never = new AbortController().signal;
    const first = bench.run.sink.approve(question, never);
    const second = bench.run.sink.approve({ ...question, title: "May Bash run: make install" }, never);
    await bench.clock.advance(0);
    expect((await bench.task(id)).status.message.parts[0].text).toBe("May Bash run: make install");
    const answer = await bench.ask("SendMessage", { message: userMessage("no", { taskId: id }) });
    expect(await first).toEqual({ decision: "deny" });
    expect(answer.result.task.status).toMatchObject({
      state: "TASK_STATE_INPUT_REQUIRED",
      message: { parts: [{ text: "May Bash run: make install" }, {}] },
    });
    void bench.ask("SendMessage", { message: userMessage("yes", { taskId: id }) });
    expect(await second).toEqual({ decision: "approve" });
  });

  it("are for the people at the host alone when the agent is shown so", async () => {
    await using bench = await FaceBench.start({ a2a: { agents: { helper: { asks: "host" } } } });
    const { id } = await bench.send("Build");
    void bench.run.sink.approve(question, new AbortController().signal);
    expect((await bench.task(id)).status).not.toHaveProperty("message");
    expect((await bench.task(id)).status.state).toBe("TASK_STATE_WORKING");
  });
});

describe("GetTask (3.1.3)", () => {
  it("shows artifacts and as much history as is wanted", async () => {
    await using bench = await FaceBench.start();
    const { id } = await bench.send("Hello");
    say(bench.run.sink, "One.", "m1");
    say(bench.run.sink, "Two.", "m2");
    const task = await bench.task(id);
    expect(task.status.state).toBe("TASK_STATE_WORKING");
    expect(
      task.artifacts.map(({ artifactId, parts }: { artifactId: string; parts: unknown }) => [
        artifactId,
        parts,
      ]),
    ).toEqual([
      ["assistant-output", [{ text: "One." }]],
      ["assistant-output-2", [{ text: "Two." }]],
    ]);
    expect(task.history).toHaveLength(1);
    expect((await bench.ask("GetTask", { id, historyLength: 0 })).result.history ?? []).toEqual([]);
    expect((await bench.ask("GetTask", { id, historyLength: -1 })).error.code).toBe(-32602);
    expect((await bench.ask("GetTask", { id: "" })).error.code).toBe(-32602);
    expect((await bench.ask("GetTask", { id: "task-x.Y29u" })).error.code).toBe(-32001);
  });
});

describe("ListTasks (3.1.4)", () => {
  it("pages through all of them, the newest first, without artifacts unless they are wanted", async () => {
    await using bench = await FaceBench.start();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) {
      ids.push((await bench.send(`Task ${index}`)).id);
      say(bench.run.sink, "Done.");
      bench.run.finish();
      await bench.clock.advance(1_000);
    }
    const seen: string[] = [];
    let pageToken = "";
    do {
      const { result } = await bench.ask("ListTasks", { pageSize: 2, pageToken });
      expect(result).toMatchObject({ totalSize: 5, pageSize: 2 });
      seen.push(...result.tasks.map(({ id }: { id: string }) => id));
      pageToken = result.nextPageToken;
    } while (pageToken !== "");
    expect(seen).toEqual(ids.toReversed());
    const { result } = await bench.ask("ListTasks", {
      status: "TASK_STATE_COMPLETED",
      includeArtifacts: true,
    });
    expect(wireText(result.tasks[0].artifacts)).toBe("Done.");
    expect((await bench.ask("ListTasks", { status: "TASK_STATE_WORKING" })).result.tasks).toEqual([]);
    expect((await bench.ask("ListTasks", { contextId: "none" })).result).toMatchObject({
      tasks: [],
      nextPageToken: "",
    });
    for (const wrong of [
      { pageSize: 0 },
      { pageSize: 101 },
      { pageToken: "?" },
      { statusTimestampAfter: "soon" },
    ]) {
      expect((await bench.ask("ListTasks", wrong)).error.code, JSON.stringify(wrong)).toBe(-32602);
    }
  });
});

describe("CancelTask (3.1.5)", () => {
  it("cancels the run with the caller's reason, and refuses when it is over", async () => {
    await using bench = await FaceBench.start();
    const { id } = await bench.send();
    const { result } = await bench.ask("CancelTask", { id, metadata: { reason: "changed my mind" } });
    expect(result.status).toMatchObject({
      state: "TASK_STATE_CANCELED",
      message: { parts: [{ text: "Cancelled: changed my mind" }] },
    });
    expect(bench.run.request.signal.reason).toBe("changed my mind");
    expect((await bench.ask("CancelTask", { id })).error).toMatchObject({ code: -32002 });
    expect((await bench.ask("CancelTask", { id: "nobody" })).error).toMatchObject({ code: -32001 });
  });

  it("is bounded: a run that does not end is still working in the answer", async () => {
    await using bench = await FaceBench.start({ deaf: true });
    const { id } = await bench.send();
    const { run } = bench;
    const answering = bench.ask("CancelTask", { id });
    await vi.waitFor(() => expect(run.request.signal.aborted).toBe(true));
    let answered = false;
    void answering.then(() => {
      answered = true;
    });
    await bench.clock.advance(9_999);
    expect(answered).toBe(false);
    await bench.clock.advance(1);
    expect((await answering).result.status.state).toBe("TASK_STATE_WORKING");
    run.finish();
    expect((await bench.task(id)).status.state).toBe("TASK_STATE_CANCELED");
  });
});

describe("SubscribeToTask (3.1.6)", () => {
  it("case 037: shows the task, then what follows; a task that is over is refused in 1.0", async () => {
    await using bench = await FaceBench.start();
    const { id } = await bench.send();
    const { sink } = bench.run;
    sink.emit({ type: "text.start", messageId: "m" });
    sink.emit({ type: "text.delta", messageId: "m", delta: "ha" });
    const stream = eventsOf(await bench.call("SubscribeToTask", { id }));
    const first = (await stream.next()).value.result;
    expect(wireText([first])).toBe("ha");
    sink.emit({ type: "text.delta", messageId: "m", delta: "ha" });
    bench.run.finish();
    const rest = [];
    for await (const { result } of stream) rest.push(result);
    expect(wireText(rest)).toBe("ha");
    expect(rest.at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
    expect((await bench.ask("SubscribeToTask", { id })).error).toMatchObject({ code: -32004 });
    const legacy = await bench.call("tasks/resubscribe", { id }, { "a2a-version": "0.3" });
    expect((await allOf(legacy))[0]).toMatchObject({ kind: "task", status: { state: "completed" } });
  });
});

describe("push notifications and the extended card", () => {
  it.each([
    ["CreateTaskPushNotificationConfig", { taskId: "t", url: "http://x" }],
    ["GetTaskPushNotificationConfig", { taskId: "t", id: "c" }],
    ["ListTaskPushNotificationConfigs", { taskId: "t" }],
    ["DeleteTaskPushNotificationConfig", { taskId: "t", id: "c" }],
  ])("%s is not supported", async (method, params) => {
    await using bench = await FaceBench.start();
    expect((await bench.ask(method, params)).error).toMatchObject({ code: -32003 });
  });

  it("GetExtendedAgentCard gives the card for callers who are known, if there is one", async () => {
    await using without = await FaceBench.start();
    expect((await without.ask("GetExtendedAgentCard", {})).error).toMatchObject({ code: -32007 });
    const skills = [{ id: "deploy", name: "Deploy", description: "Deploys" }];
    await using bench = await FaceBench.start({ a2a: { agents: { helper: { extended: { skills } } } } });
    expect((await bench.ask("GetExtendedAgentCard", {})).result).toMatchObject({
      skills: [{ id: "deploy" }],
      supportedInterfaces: [{ url: "http://127.0.0.1:4100/a2a/helper" }, {}, {}, {}],
    });
    const card = await (await bench.fetch("/.well-known/agent-card.json")).json();
    expect(card).toMatchObject({ capabilities: { extendedAgentCard: true }, skills: [{ id: "helper" }] });
    const get = async (path: string, version: string) =>
      (await bench.fetch(path, { headers: { "a2a-version": version } })).json();
    const legacy = await bench.ask("agent/getAuthenticatedExtendedCard", {}, { "a2a-version": "0.3" });
    for (const older of [legacy.result, await get("/v1/card", "0.3")]) {
      expect(older).toMatchObject({
        url: "http://127.0.0.1:4100/a2a/helper",
        protocolVersion: expect.stringMatching(/^0\.3/),
        skills: [{ id: "deploy" }],
      });
    }
    expect(await get("/extendedAgentCard", "1.0")).toMatchObject({ skills: [{ id: "deploy" }] });
  });
});

describe("failures", () => {
  it("tell the caller what kind it was, and nothing of the inside", async () => {
    await using bench = await FaceBench.start();
    const { id } = await bench.send();
    bench.run.finish({
      status: "failed",
      error: new TroupeError("program_died", "/home/ada/.secret/bin: exit 1, token sk-123", {
        retryable: true,
      }),
    });
    const task = await bench.task(id);
    expect(task.status).toMatchObject({
      state: "TASK_STATE_FAILED",
      message: { parts: [{ text: "The agent's program ended unexpectedly." }] },
    });
    expect(task.artifacts.at(-1)).toMatchObject({
      artifactId: "agent-adaptor-result",
      parts: [{ data: { status: "failed", error: { code: "program_died", retryable: true } } }],
    });
    expect(JSON.stringify(task)).not.toMatch(/secret|sk-123/);
  });
});
