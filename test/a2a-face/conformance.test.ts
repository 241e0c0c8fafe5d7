import { describe, expect, it, vi } from "vitest";
import { say } from "../support/fake-agent.js";
import { type Answered, BINDINGS, type Binding } from "./bindings.js";
import { allOf, FaceBench, userMessage, type Wire, wireText } from "./face-bench.js";

// The names in brackets are the requirements of the A2A conformance kit (a2aproject/a2a-tck, branch 1.0-dev). What is not offered
// at all (gRPC, push delivery, signing our own card, credentials in a task) stands in docs/interop.md. Statuses of REST are those of
// 1.0.1, where the kit still asks for 415 and 409.

const CAMEL = /^[a-z][a-zA-Z0-9]*$/;
const STATES = new Set(
  [
    "SUBMITTED",
    "WORKING",
    "COMPLETED",
    "FAILED",
    "CANCELED",
    "INPUT_REQUIRED",
    "REJECTED",
    "AUTH_REQUIRED",
  ].map((name) => `TASK_STATE_${name}`),
);

/** A task that said `text` and is over. */
async function ended(bench: FaceBench, text = "Done."): Promise<Wire> {
  const { id } = await bench.send();
  say(bench.run.sink, text);
  bench.run.finish();
  return bench.task(id);
}

/** A task that waits for a person. */
async function asking(bench: FaceBench): Promise<Wire> {
  const { id } = await bench.send();
  void bench.run.sink.approve({ kind: "permission", title: "May I?" }, new AbortController().signal);
  return bench.task(id);
}

function message(
  text = "Hello",
  more: object = {},
  configuration: object = { returnImmediately: true },
): Wire {
  return { message: userMessage(text, more), configuration };
}

/** Every object of a value with the name that it stands under. */
function* objects(value: Wire, name = ""): Generator<[string, Wire]> {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) for (const item of value) yield* objects(item, name);
  else {
    yield [name, value];
    for (const [key, item] of Object.entries(value)) yield* objects(item, key);
  }
}

describe.each(BINDINGS)("A2A 1.0 over $name", (binding: Binding) => {
  const refused = async (answer: Promise<Answered>, reason: string, rpc: number, http: number) =>
    expect(await answer).toEqual({ reason, code: binding.name === "JSON-RPC" ? rpc : http });

  it("[CORE-SEND-001] [CORE-EXECUTION-MODE-002] [CORE-MULTI-001a] [CORE-MULTI-003] a send gives a new task at once", async () => {
    await using bench = await FaceBench.start();
    const [first, second] = [
      (await binding.ask(bench, "SendMessage", message())).value.task,
      (await binding.ask(bench, "SendMessage", message())).value.task,
    ];
    expect(first.status.state).toMatch(/SUBMITTED|WORKING/);
    expect(first.contextId).toMatch(/./);
    expect(second.id).not.toBe(first.id);
  });

  it("[CORE-EXECUTION-MODE-001] a blocking send waits for the end, or for a question", async () => {
    await using bench = await FaceBench.start();
    const answer = binding.ask(bench, "SendMessage", message("Hello", {}, {}));
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    bench.run.finish();
    expect((await answer).value.task.status.state).toBe("TASK_STATE_COMPLETED");
    const interrupted = binding.ask(bench, "SendMessage", message("Hello", {}, {}));
    await vi.waitFor(() => expect(bench.runs).toHaveLength(2));
    void bench.run.sink.approve({ kind: "permission", title: "May I?" }, new AbortController().signal);
    expect((await interrupted).value.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  it("[CORE-SEND-002] [CORE-CANCEL-002] [STREAM-SUB-003] a task that is over takes no message, cancel or subscriber", async () => {
    await using bench = await FaceBench.start();
    const { id } = await ended(bench);
    const again = message("More", { taskId: id });
    await refused(binding.ask(bench, "SendMessage", again), "UNSUPPORTED_OPERATION", -32004, 400);
    await refused(binding.stream(bench, "SendStreamingMessage", again), "UNSUPPORTED_OPERATION", -32004, 400);
    await refused(binding.ask(bench, "CancelTask", { id }), "TASK_NOT_CANCELABLE", -32002, 400);
    await refused(binding.stream(bench, "SubscribeToTask", { id }), "UNSUPPORTED_OPERATION", -32004, 400);
  });

  it("[CORE-SEND-003] [HTTP_JSON-STATUS-001] media that the agent does not take are named as such", async () => {
    await using bench = await FaceBench.start();
    const parts = [{ raw: "AAEC", mediaType: "application/x-unknown" }];
    const sent = binding.ask(bench, "SendMessage", message("", { parts }));
    await refused(sent, "CONTENT_TYPE_NOT_SUPPORTED", -32005, 400);
  });

  it("[CORE-GET-002] [CORE-CANCEL-003] [CORE-MULTI-004] [STREAM-SUB-004] what is not there is not found", async () => {
    await using bench = await FaceBench.start();
    const id = "nobody";
    const lost = [
      binding.ask(bench, "GetTask", { id }),
      binding.ask(bench, "CancelTask", { id }),
      binding.ask(bench, "SendMessage", message("x", { taskId: id })),
      binding.stream(bench, "SubscribeToTask", { id }),
    ];
    for (const answer of lost) await refused(answer, "TASK_NOT_FOUND", -32001, 404);
  });

  it("[CORE-CAP-001] [CORE-CAP-003] [CARD-EXT-002] what is not offered says so", async () => {
    await using bench = await FaceBench.start();
    const push = { taskId: "t", url: "https://example.com/hook" };
    const pushed = binding.ask(bench, "CreateTaskPushNotificationConfig", push);
    await refused(pushed, "PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400);
    const extended = (await binding.ask(bench, "GetExtendedAgentCard", {})).reason;
    expect(extended).toMatch(/^(?:UNSUPPORTED_OPERATION|EXTENDED_AGENT_CARD_NOT_CONFIGURED)$/);
  });

  it("[CORE-STREAM-001] [CORE-STREAM-003] [STREAM-ORDER-001] a stream is the task, what happens in its order, and the end", async () => {
    await using bench = await FaceBench.start();
    const stream = binding.stream(bench, "SendStreamingMessage", message());
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    for (const text of ["one ", "two ", "three"]) say(bench.run.sink, text);
    bench.run.finish();
    const events = (await stream).value;
    expect(Object.keys(events[0])).toEqual(["task"]);
    expect(wireText(events)).toBe("one two three");
    expect(events.at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("[CORE-GET-001] [CORE-CANCEL-001] [STREAM-SUB-001] [STREAM-SUB-002] a task is seen as it is, followed and cancelled", async () => {
    await using bench = await FaceBench.start();
    const { id } = await bench.send();
    say(bench.run.sink, "So far.");
    await bench.clock.advance(0);
    const { value } = await binding.ask(bench, "GetTask", { id });
    expect([value.status.state, wireText(value.artifacts)]).toEqual(["TASK_STATE_WORKING", "So far."]);
    const followed = binding.stream(bench, "SubscribeToTask", { id });
    await bench.clock.advance(0);
    expect((await binding.ask(bench, "CancelTask", { id })).value.status.state).toBe("TASK_STATE_CANCELED");
    const events = (await followed).value;
    expect(wireText([events[0]])).toBe("So far.");
    expect(events.at(-1).statusUpdate.status.state).toBe("TASK_STATE_CANCELED");
  });

  it("[CORE-LIST-002] [CORE-LIST-003] [CORE-LIST-004] [CORE-LIST-005] [HTTP_JSON-QP-001] lists come by pages, newest first, without artifacts", async () => {
    await using bench = await FaceBench.start();
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) {
      ids.push((await ended(bench)).id);
      await bench.clock.advance(1_000);
    }
    const first = (await binding.ask(bench, "ListTasks", { pageSize: 2 })).value;
    const { nextPageToken: pageToken } = first;
    const last = (await binding.ask(bench, "ListTasks", { pageSize: 2, pageToken })).value;
    expect(last.nextPageToken).toBe("");
    const tasks: Wire[] = [...first.tasks, ...last.tasks];
    expect(tasks.map(({ id }) => id)).toEqual(ids.toReversed());
    for (const task of tasks) expect(task).not.toHaveProperty("artifacts");
  });

  it("[CORE-MULTI-001] [CORE-MULTI-002] [CORE-MULTI-005] [CORE-MULTI-006] contexts: made, taken over, found by the task, and refused where they differ", async () => {
    await using bench = await FaceBench.start();
    const sent = await binding.ask(bench, "SendMessage", message("Hi", { contextId: "mine" }));
    expect(sent.value.task.contextId).toBe("mine");
    const { id, contextId } = await asking(bench);
    const elsewhere = message("Yes", { taskId: id, contextId: "another" });
    expect((await binding.ask(bench, "SendMessage", elsewhere)).reason).toBeDefined();
    const answered = await binding.ask(bench, "SendMessage", message("Yes", { taskId: id }));
    expect(answered.value.task).toMatchObject({ id, contextId });
  });

  it("[CORE-HIST-001] [CORE-HIST-002] [CORE-HIST-003] [CORE-HIST-004] [CORE-HIST-005] [CORE-HIST-006] as much history as is asked for, in its order", async () => {
    await using bench = await FaceBench.start();
    const { id } = await asking(bench);
    await binding.ask(bench, "SendMessage", message("Yes, do", { taskId: id }));
    const history = async (historyLength?: number) =>
      (await binding.ask(bench, "GetTask", { id, ...(historyLength === undefined ? {} : { historyLength }) }))
        .value.history ?? [];
    const whole = await history();
    const texts = whole
      .filter(({ role }: Wire) => role === "ROLE_USER")
      .map(({ parts }: Wire) => parts[0].text);
    expect(texts).toEqual(["Hello", "Yes, do"]);
    expect(await history(0)).toEqual([]);
    expect(await history(1)).toEqual(whole.slice(-1));
    const none = message("Hi", {}, { returnImmediately: true, historyLength: 0 });
    expect((await binding.ask(bench, "SendMessage", none)).value.task.history ?? []).toEqual([]);
  });

  it("[DM-TASK-001] [DM-TASK-002] [DM-MSG-001] [DM-MSG-002] [DM-PART-001] [DM-ART-001] [DM-STATUS-001] [DM-SERIAL-001..004] everything has its shape", async () => {
    await using bench = await FaceBench.start();
    const { id } = await ended(bench);
    const task = (await binding.ask(bench, "GetTask", { id })).value;
    expect(task).toMatchObject({ id, contextId: expect.any(String), status: { state: expect.any(String) } });
    for (const [name, value] of objects(task)) {
      for (const key of Object.keys(value)) expect(key).toMatch(CAMEL);
      if (name === "status") {
        expect(STATES).toContain(value.state);
        expect(value.timestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      }
      if (name === "history" || name === "message") {
        expect(value).toMatchObject({ messageId: expect.any(String), parts: expect.any(Array) });
        expect(value.role).toMatch(/^ROLE_(?:USER|AGENT)$/);
      }
      if (name === "artifacts") {
        expect(value).toMatchObject({ artifactId: expect.any(String), parts: expect.any(Array) });
      }
      if (name === "parts") {
        expect(["text", "raw", "url", "data"].filter((kind) => kind in value)).toHaveLength(1);
      }
    }
  });

  it("[DM-SERIAL-005] [CORE-ERR-001] [CORE-ERR-002] fields that nobody knows are passed over, what is missing or wrong is named", async () => {
    await using bench = await FaceBench.start();
    const unknown = { ...message("Hello", { mood: "good" }), weather: "fine" };
    expect((await binding.ask(bench, "SendMessage", unknown)).value.task.id).toMatch(/./);
    for (const wrong of [{ message: { parts: [] } }, {}, message("", { parts: [] })]) {
      const { code } = await binding.ask(bench, "SendMessage", wrong);
      expect([-32602, 400], JSON.stringify(wrong)).toContain(code);
    }
  });

  it("[CORE-LIST-001] [AUTH-SERVER-002] [AUTH-SCOPE-001] [AUTH-SCOPE-002] [AUTH-SCOPE-003] [BIND-EQUIV-004] callers see what is theirs", async () => {
    const auth = { mode: "bearer", tokens: { ada: "token-of-ada", bob: "token-of-bob" } } as const;
    await using bench = await FaceBench.start({ a2a: { auth } });
    const ada = { authorization: "Bearer token-of-ada" };
    const bob = { authorization: "Bearer token-of-bob" };
    const { id } = (await binding.ask(bench, "SendMessage", message(), ada)).value.task;
    const hidden = await binding.ask(bench, "GetTask", { id }, bob);
    expect(hidden).toEqual(await binding.ask(bench, "GetTask", { id: `${id}x` }, bob));
    expect((await binding.ask(bench, "ListTasks", {}, bob)).value.tasks).toEqual([]);
    expect((await binding.ask(bench, "ListTasks", {}, ada)).value.tasks).toHaveLength(1);
  });
});

describe("A2A 1.0, apart from the bindings", () => {
  it("[STREAM-ORDER-002] [STREAM-ORDER-003] [STREAM-ORDER-004] every stream of a task has the same, and one that closes closes no other", async () => {
    await using bench = await FaceBench.start();
    const { id } = await bench.send();
    const gone = new AbortController();
    const [first, second] = await Promise.all([
      bench.call("SubscribeToTask", { id }),
      bench.call("SubscribeToTask", { id }),
    ]);
    await (await bench.call("SubscribeToTask", { id }, {}, gone.signal)).body?.cancel();
    gone.abort();
    for (const text of ["a", "b", "c"]) say(bench.run.sink, text);
    bench.run.finish();
    const [one, other] = await Promise.all([allOf(first as Response), allOf(second as Response)]);
    expect(wireText(one)).toBe("abc");
    expect(other).toEqual(one);
  });

  it("[CARD-DISC-001] [CARD-PROTO-001] [CARD-PROTO-002] [CARD-STRUCT-001] [CARD-CACHE-001] [CARD-CACHE-002] [CARD-CACHE-003] [BIND-FIELD-001] the card says what there is", async () => {
    await using bench = await FaceBench.start();
    const response = await bench.fetch("/.well-known/agent-card.json");
    expect(response.headers.get("cache-control")).toMatch(/max-age=\d+/);
    expect(response.headers.get("etag")).toMatch(/^(?:W\/)?".+"$/);
    expect(Date.parse(response.headers.get("last-modified") ?? "")).toBe(bench.clock.now());
    const card = await response.json();
    for (const field of [
      "name",
      "description",
      "version",
      "capabilities",
      "defaultInputModes",
      "defaultOutputModes",
      "skills",
    ])
      expect(card).toHaveProperty(field);
    const offered = card.supportedInterfaces.filter(({ protocolVersion }: Wire) => protocolVersion === "1.0");
    expect(offered.map(({ protocolBinding }: Wire) => protocolBinding).sort()).toEqual([
      "HTTP+JSON",
      "JSONRPC",
    ]);
    for (const { url } of offered) {
      // Somebody answers there.
      expect((await bench.fetch(url, { method: "POST" })).status, url).not.toBe(500);
    }
  });

  it("[VER-SERVER-001] [VER-SERVER-002] [VER-SERVER-003] [VER-CLIENT-002] the version asked for counts", async () => {
    await using bench = await FaceBench.start();
    const code = async (version: string, method: string) =>
      (await bench.ask(method, { id: "nobody" }, { "a2a-version": version })).error.code;
    expect(await code("1.0", "GetTask")).toBe(-32001);
    expect(await code("1.0.7", "GetTask")).toBe(-32001);
    expect(await code("", "tasks/get")).toBe(-32001);
    expect(await code("9.0", "GetTask")).toBe(-32009);
  });

  it("[JSONRPC-FMT-001] [JSONRPC-FMT-002] [JSONRPC-SVC-001] [JSONRPC-ERR-001..003] [JSONRPC-SSE-001] JSON-RPC keeps its form", async () => {
    await using bench = await FaceBench.start();
    const response = await bench.call("GetTask", { id: "nobody" });
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const body = await response.json();
    expect(body).toMatchObject({
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32001, message: expect.any(String) },
    });
    expect(body.error.data[0]).toMatchObject({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "TASK_NOT_FOUND",
      domain: "a2a-protocol.org",
    });
    const streamed = await bench.call("SendStreamingMessage", message());
    expect(streamed.headers.get("content-type")).toMatch(/^text\/event-stream/);
    await streamed.body?.cancel();
  });

  it("[HTTP_JSON-URL-001] [HTTP_JSON-URL-002] [HTTP_JSON-ERR-001] [HTTP_JSON-ERR-002] [HTTP_JSON-SSE-001] REST keeps its form", async () => {
    await using bench = await FaceBench.start();
    const response = await bench.fetch("/tasks/nobody", { headers: { "a2a-version": "1.0" } });
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toMatch(/^application\/(?:a2a\+)?json/);
    const { error } = await response.json();
    expect(error).toMatchObject({ code: 404, status: "NOT_FOUND", message: expect.any(String) });
    expect(error.details[0]).toMatchObject({ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" });
    const streamed = await bench.post("/message:stream", message());
    expect(streamed.headers.get("content-type")).toMatch(/^text\/event-stream/);
    await streamed.body?.cancel();
    expect((await bench.fetch("/tasks", { method: "DELETE" })).status).toBeGreaterThanOrEqual(400);
  });

  it("[JSONRPC-SVC-002] [HTTP_JSON-SVC-002] extensions that the agent does not know are passed over", async () => {
    await using bench = await FaceBench.start();
    const headers = { "a2a-extensions": "https://example.com/unknown/v1" };
    for (const binding of BINDINGS) {
      expect((await binding.ask(bench, "SendMessage", message(), headers)).value.task.id).toMatch(/./);
    }
  });

  it("[BIND-EQUIV-001] [BIND-EQUIV-002] [BIND-EQUIV-003] [JSONRPC-SSE-002] both bindings tell the same", async () => {
    await using bench = await FaceBench.start();
    const { id } = await ended(bench);
    const [rpc, rest] = await Promise.all(BINDINGS.map((binding) => binding.ask(bench, "GetTask", { id })));
    expect(rest).toEqual(rpc);
    const reasons = await Promise.all(
      BINDINGS.map(async (binding) => (await binding.ask(bench, "CancelTask", { id })).reason),
    );
    expect(reasons).toEqual(["TASK_NOT_CANCELABLE", "TASK_NOT_CANCELABLE"]);
  });
});
