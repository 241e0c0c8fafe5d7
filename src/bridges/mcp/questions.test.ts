import type { ElicitResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { deferred, settle } from "../../../test/support/deferred.js";
import type { ShownForm } from "../../../test/support/mcp-bench.js";
import { ServiceBench } from "../../../test/support/service-bench.js";
import type { DelegationPolicy } from "../../delegation/policy.js";
import { readSse } from "../../wire/sse-reader.js";

const open = (policy: Partial<DelegationPolicy> = {}, elicitation = true) =>
  ServiceBench.open(policy, { elicitation });
const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

/** A person who is shown forms and answers when the test says so. */
function person() {
  const forms: ShownForm[] = [];
  const waiting: ((answer: ElicitResult) => void)[] = [];
  return {
    forms,
    show: (form: ShownForm) => {
      forms.push(form);
      const answer = deferred<ElicitResult>();
      waiting.push(answer.resolve);
      return answer.promise;
    },
    says: async (answer: ElicitResult) => {
      while (waiting.length === 0) await settle(1);
      waiting.shift()?.(answer);
      await settle(20);
    },
    shown: async (count: number) => {
      while (forms.length < count) await settle(1);
    },
  };
}

const accept = (content: Record<string, string>): ElicitResult => ({ action: "accept", content });

describe.each(["modern", "legacy"] as const)("a remote's question, %s client with forms", (era) => {
  it("is shown to the client's person; the same call goes on with the answer, several rounds", async () => {
    const service = await open();
    const { forms, show, says } = person();
    const client = await service.connect(era, show);
    const calling = client.callTool(service.call("Book", "toolu_1"));
    await service.started();
    await service.asks("Which city?", CITY);
    await says(accept({ city: "Rome" }));
    await service.asks("Are you sure?");
    await says(accept({ answer: "Yes." }));
    await service.completes("Booked.");
    expect(await calling).toMatchObject({ structuredContent: { status: "completed", summary: "Booked." } });
    expect(forms).toMatchObject([
      { message: "Which city?", requestedSchema: CITY },
      { message: "Are you sure?", requestedSchema: { required: ["answer"] } },
    ]);
    expect(service.answers).toEqual([{ data: { city: "Rome" } }, { text: "Yes." }]);
    expect(service.bench.remote.tasks).toHaveLength(1);
    const resolved = service.bench.events.filter(({ type }) => type === "subagent.input_resolved");
    expect(resolved).toMatchObject([{ by: "person" }, { by: "person" }]);
    await service.attachment.detach("finished");
    expect(service.bench.left).toEqual({ timers: 0, permits: 0 });
  });

  it("also without an id of the call, and after `task_reply`", async () => {
    const service = await open();
    const { show, says } = person();
    const client = await service.connect(era, show);
    const calling = client.callTool(service.call("Book"));
    await service.started();
    await service.asks("Which city?");
    await says(accept({ answer: "Rome" }));
    await service.completes();
    expect(await calling).toMatchObject({ structuredContent: { status: "completed" } });
    expect([service.answers, service.bench.remote.tasks.length]).toEqual([[{ text: "Rome" }], 1]);
  });

  it("declined: the delegation ends, and says so", async () => {
    const service = await open();
    const client = await service.connect(era, () => ({ action: "decline" }));
    const calling = client.callTool(service.call("Book", "toolu_1"));
    await service.started();
    await service.asks("Your password?");
    await service.bench.clock.advance(0);
    const { structuredContent, isError } = await calling;
    expect(isError).toBe(true);
    expect(structuredContent).toMatchObject({
      status: "failed",
      error: { code: "input_required", message: "The person declined to answer: Your password?" },
    });
    expect([service.answers, service.bench.remote.cancels.length]).toEqual([[], 1]);
  });

  it("closed without an answer: it stays open for others, and is not shown again; the next one is", async () => {
    const service = await open();
    const { forms, show, says } = person();
    const client = await service.connect(era, show);
    const calling = client.callTool(service.call("Book", "toolu_1"));
    await service.started();
    await service.asks("Which city?");
    await says({ action: "cancel" });
    await service.bench.clock.advance(1_000);
    expect([forms.length, service.bench.terminal]).toEqual([1, undefined]);
    await service.bench.delegator.reply("del-1", { text: "Rome" });
    await service.asks("When?");
    await says(accept({ answer: "Now" }));
    await service.completes();
    expect(await calling).toMatchObject({ structuredContent: { status: "completed" } });
    expect(service.answers).toEqual([{ text: "Rome" }, { text: "Now" }]);
    expect(forms.map(({ message }) => message)).toEqual(["Which city?", "When?"]);
  });

  it("answered elsewhere meanwhile: goes on, and a late answer is not taken for one to the next question", async () => {
    const service = await open();
    const { show, shown, says } = person();
    const client = await service.connect(era, show);
    const calling = client.callTool(service.call("Book", "toolu_1"));
    await service.started();
    await service.asks("Which city?");
    await shown(1);
    await service.bench.delegator.reply("del-1", { text: "Oslo" });
    await service.asks("Which hotel?");
    await says(accept({ answer: "Rome" }));
    await shown(2);
    expect(service.answers).toEqual([{ text: "Oslo" }]);
    await says(accept({ answer: "Ritz" }));
    await service.completes();
    expect(await calling).toMatchObject({ structuredContent: { status: "completed" } });
    expect(service.answers).toEqual([{ text: "Oslo" }, { text: "Ritz" }]);
  });

  it("an answer that is none, or that the remote does not take, is asked for again with the reason", async () => {
    const service = await open();
    const { forms, show, says } = person();
    const client = await service.connect(era, show);
    const calling = client.callTool(service.call("Book", "toolu_1"));
    await service.started();
    await service.asks("Which city?");
    await says(accept({ answer: " " }));
    service.bench.remote.answer = () => Promise.reject(new Error("Busy."));
    await says(accept({ answer: "Rome" }));
    service.bench.remote.answer = async (_reference, input) => void service.answers.push(input);
    await says(accept({ answer: "Rome" }));
    await service.completes();
    await calling;
    expect(forms.map(({ message }) => message)).toEqual([
      "Which city?",
      "The answer is empty.\nWhich city?",
      "Busy.\nWhich city?",
    ]);
  });

  it("a person who never gives an answer gets no form for ever: the model is told the question", async () => {
    const service = await open();
    let rounds = 0;
    const client = await service.connect(era, () => {
      rounds++;
      return accept({ answer: "" });
    });
    const calling = client.callTool(service.call("Book", "toolu_1"));
    await service.started();
    await service.asks("Which city?");
    expect(await calling).toMatchObject({
      structuredContent: { status: "needs_input", input_request: { prompt: "Which city?" } },
    });
    expect(rounds).toBe(8);
  });

  it("nobody answers in time: the call says so", async () => {
    const service = await open({ inputTimeoutMs: 5_000 });
    const { show, shown, says } = person();
    const client = await service.connect(era, show);
    const calling = client.callTool(service.call("Book", "toolu_1"));
    await service.started();
    await service.asks("Which city?");
    await shown(1);
    await service.bench.clock.advance(5_000);
    await says(accept({ answer: "Too late" }));
    expect(await calling).toMatchObject({
      isError: true,
      structuredContent: { status: "failed", delegation_id: "del-1", error: { code: "input_required" } },
    });
    expect(service.answers).toEqual([]);
  });

  it("is not shown when the option is off, by policy `return`, and to a client without forms", async () => {
    for (const [policy, elicitation, forms] of [
      [{}, false, true],
      [{ inputRequired: "return" }, true, true],
      [{}, true, false],
    ] as const) {
      const service = await open(policy, elicitation);
      const { forms: shown, show } = person();
      const client = await service.connect(era, forms ? show : undefined);
      const calling = client.callTool(service.call("Book", "toolu_1"));
      await service.started();
      await service.asks("Which city?");
      if ("inputRequired" in policy)
        expect(await calling).toMatchObject({ structuredContent: { status: "needs_input" } });
      else {
        await service.bench.delegator.reply("del-1", { text: "Rome" });
        await service.completes();
        expect(await calling).toMatchObject({ structuredContent: { status: "completed" } });
      }
      expect(shown).toEqual([]);
    }
  });

  it("`task_result` that waits asks as well; one that only looks does not", async () => {
    const service = await open();
    const { forms, show, says } = person();
    const client = await service.connect(era, show);
    const first = await service.connect(era);
    void first.callTool(service.call("Book", "toolu_1")).catch(() => undefined);
    await service.started();
    await service.asks("Which city?");
    const look = (seconds: number) =>
      client.callTool({
        name: "task_result",
        arguments: { delegation_id: "del-1", ...(seconds > 0 ? { wait_seconds: seconds } : {}) },
      });
    const looking = look(0);
    await service.bench.clock.advance(0);
    expect(await looking).toMatchObject({ structuredContent: { status: "needs_input" } });
    expect(forms).toEqual([]);
    const waiting = look(60);
    await says(accept({ answer: "Rome" }));
    await service.completes();
    expect(await waiting).toMatchObject({ structuredContent: { status: "completed" } });
    expect(service.answers).toEqual([{ text: "Rome" }]);
  });
});

describe("a raw client of the modern era", () => {
  const forms = { capabilities: { elicitation: {} } };
  const meta = { "claudecode/toolUseId": "toolu_1" };

  it("a bare declaration means forms; the exchange ends with the question, and the same call continues it", async () => {
    const service = await open();
    const calling = service.raw("tools/call", service.call("Book"), { ...forms, meta });
    await service.started();
    await service.asks("Which city?", CITY);
    const { result } = await calling;
    const [key = ""] = Object.keys(result?.inputRequests ?? {});
    expect(result).toMatchObject({
      resultType: "input_required",
      requestState: "del-1",
      inputRequests: {
        [key]: {
          method: "elicitation/create",
          params: { mode: "form", message: "Which city?", requestedSchema: CITY },
        },
      },
    });
    const again = service.raw(
      "tools/call",
      {
        ...service.call("Book"),
        inputResponses: { [key]: accept({ city: "Rome" }) },
        requestState: "del-99",
      },
      { ...forms, meta },
    );
    await settle(50);
    await service.completes();
    // What it carried along was wrong; the call's own id decides.
    expect((await again).result?.structuredContent).toMatchObject({
      status: "completed",
      delegation_id: "del-1",
    });
    expect([service.answers, service.bench.remote.tasks.length]).toEqual([[{ data: { city: "Rome" } }], 1]);
  });

  it("an answer that belongs to nothing starts nothing", async () => {
    const service = await open();
    for (const requestState of [undefined, "del-7", ""]) {
      const params = {
        ...service.call("Book"),
        inputResponses: { "question-1": accept({ answer: "x" }) },
        ...(requestState === undefined ? {} : { requestState }),
      };
      const { result } = await service.raw("tools/call", params, forms);
      expect(result?.structuredContent).toMatchObject({ error: { code: "result_expired" } });
    }
    expect(service.bench.remote.tasks).toEqual([]);
  });

  it("an answer whose key was made up changes nothing", async () => {
    const service = await open();
    const calling = service.raw("tools/call", service.call("Book"), { ...forms, meta });
    await service.started();
    await service.asks("Which city?");
    await calling;
    const params = { ...service.call("Book"), inputResponses: { __proto__x: accept({ answer: "x" }) } };
    const again = await service.raw("tools/call", params, { ...forms, meta });
    expect(again.result).toMatchObject({ resultType: "input_required" });
    expect(service.answers).toEqual([]);
  });
});

it("legacy: the form comes on the call's own stream, and an answer in a POST of its own", async () => {
  const service = await open();
  const session = await service.session({ elicitation: {} });
  const response = await session.send({ id: 1, method: "tools/call", params: service.call("Book") });
  await service.started();
  await service.asks("Which city?");
  const messages: Record<string, unknown>[] = [];
  for await (const { data } of readSse(response.body ?? new ReadableStream())) {
    if (data === "") continue;
    const message = JSON.parse(data) as Record<string, unknown>;
    messages.push(message);
    if (message.method !== "elicitation/create") continue;
    const answer = { action: "accept", content: { answer: "Rome" } };
    expect((await session.send({ id: message.id, result: answer })).status).toBe(202);
    await settle(20);
    await service.completes();
  }
  expect(messages).toMatchObject([
    { params: { mode: "form", message: "Which city?" } },
    { id: 1, result: { structuredContent: { status: "completed" } } },
  ]);
  expect(service.answers).toEqual([{ text: "Rome" }]);
});

it("legacy: a call that is taken back while its form is open cancels the delegation", async () => {
  const service = await open();
  const { show, shown } = person();
  const client = await service.connect("legacy", show);
  const abort = new AbortController();
  const calling = client.callTool(service.call("Book", "toolu_1"), { signal: abort.signal });
  await service.started();
  await service.asks("Which city?");
  await shown(1);
  abort.abort("escape");
  await expect(calling).rejects.toThrow();
  await service.bench.clock.advance(0);
  expect(service.bench.terminal).toMatchObject({ type: "subagent.cancelled" });
});

it("legacy: a session that is lost while its form is open leaves the question open; the same call shows it again", async () => {
  const service = await open();
  const first = person();
  const lost = await service.connect("legacy", first.show);
  void lost.callTool(service.call("Book", "toolu_1")).catch(() => undefined);
  await service.started();
  await service.asks("Which city?");
  await first.shown(1);
  await lost.close();
  await service.bench.clock.advance(10_000);
  const second = person();
  const client = await service.connect("legacy", second.show);
  const calling = client.callTool(service.call("Book", "toolu_1"));
  await second.says(accept({ answer: "Rome" }));
  await service.completes();
  expect(await calling).toMatchObject({ structuredContent: { status: "completed" } });
  expect([service.answers, service.bench.remote.tasks.length]).toEqual([[{ text: "Rome" }], 1]);
});

it("legacy: a run that ends while a form is open answers the call", async () => {
  const service = await open();
  const { show, shown } = person();
  const client = await service.connect("legacy", show);
  const calling = client.callTool(service.call("Book", "toolu_1"));
  await service.started();
  await service.asks("Which city?");
  await shown(1);
  await service.attachment.detach("finished");
  expect(await calling).toMatchObject({ isError: true, structuredContent: { status: "cancelled" } });
});
