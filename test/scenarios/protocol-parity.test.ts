import { afterAll, beforeAll, expect, it } from "vitest";
import { createAgent } from "../../src/core/agent.js";
import { TroupeError } from "../../src/core/errors.js";
import type { SubagentEvent } from "../../src/delegation/events.js";
import type { RemoteAgent } from "../../src/delegation/remote.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import { agui } from "../../src/remotes/agui/agui.js";
import { local } from "../../src/remotes/local/local.js";
import { parseScript } from "../../src/testing/a2a/script.js";
import { type ScriptedAgent, startScriptedAgent } from "../../src/testing/a2a/start.js";
import { type AguiServer, startAguiServer } from "../support/agui-server.js";
import { CAPABLE, FINISHED } from "../support/fake-agent.js";
import { delegateTo, type Outcome } from "../support/remote-delegation.js";

let agent: ScriptedAgent;
let server: AguiServer;
beforeAll(async () => {
  [agent, server] = await Promise.all([startScriptedAgent({ paceMs: 0 }), startAguiServer()]);
});
afterAll(() => Promise.all([agent.close(), server.close()]));

/** A local agent that does what the lines of its prompt say. */
const scripted = createAgent({
  describe: () => ({ name: "scripted", capabilities: CAPABLE, environment: [] }),
  async start({ prompt, signal }, sink) {
    const say = (delta: string) => sink.emit({ type: "text.delta", messageId: "text", delta });
    let open = false;
    for (const step of parseScript(prompt).steps) {
      if (step.do === "say" || step.do === "message") {
        if (!open) sink.emit({ type: "text.start", messageId: "text" });
        open = true;
        say(step.text);
      }
      if (step.do === "status")
        sink.emit({ type: "notice", level: "warning", code: "status", message: step.text });
      if (step.do === "input") await sink.approve({ kind: "question", title: step.text }, signal);
      if (step.do === "end" && step.state !== "completed")
        return { status: "failed", error: new TroupeError("model_error", step.text) };
    }
    if (open) sink.emit({ type: "text.end", messageId: "text" });
    return FINISHED;
  },
});

const WAYS: Record<string, () => RemoteAgent> = {
  a2a: () => a2a({ name: "research", agentCardUrl: agent.cardUrl }),
  agui: () => agui({ name: "research", url: server.url }),
  local: () =>
    local({ name: "research", agent: "scripted" })({
      describe: () => ({ name: "scripted", driver: "scripted" }),
      start({ prompt, runId, threadId, metadata }) {
        const run = scripted.run(prompt, { runId, thread: threadId, metadata });
        return { run, events: () => run.events };
      },
    }),
};

/** A result without what is named by the remote or its protocol alone. */
function comparable({ status, summary, messages, artifacts, error }: Outcome) {
  const { code, message, retryable } = error ?? {};
  return { status, summary, messages, artifacts, error: { code, message, retryable } };
}

/** What a person is told, but for pieces of text and for how far it has come meanwhile. */
function told(events: readonly SubagentEvent[]) {
  const types = events.map(({ type }) => type).filter((type) => type !== "subagent.status");
  const text = events.map((event) => (event.type === "subagent.text.delta" ? event.delta : "")).join("");
  return { types: types.filter((type, index) => type !== types[index - 1]), text };
}

it.each([
  ["#say one \n#say two", "completed"],
  ["#status Reading\n#say one", "completed"],
  ["#say half\n#fail No sources", "failed"],
  ["#say Hm.\n#input Which year?", "failed"],
  ["#unicode", "completed"],
])("%j over a2a, agui and local: the same result, and the same events", async (script, status) => {
  const outcomes = await Promise.all(
    Object.entries(WAYS).map(async ([way, remote]) => {
      const { result, events } = await delegateTo(remote(), script, { inputRequired: "fail" });
      return { way, result: comparable(result), told: told(events) };
    }),
  );
  const [first] = outcomes;
  expect(first?.result.status).toBe(status);
  for (const { way, ...outcome } of outcomes)
    expect({ way, ...outcome }).toEqual({ way, result: first?.result, told: first?.told });
});

it("what AG-UI and local agents lack is only that: no files, and no word of their own for a rejection", async () => {
  const script = "#say one\n#artifact notes.md 100";
  const names = await Promise.all(
    Object.entries(WAYS).map(async ([way, remote]) => {
      const { result } = await delegateTo(remote(), script);
      return [way, result.artifacts?.map(({ name }) => name)];
    }),
  );
  expect(Object.fromEntries(names)).toEqual({ a2a: ["notes.md"], agui: [], local: [] });
});
