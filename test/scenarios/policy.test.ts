import { describe, expect, it } from "vitest";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import { type ScriptedAgent, startScriptedAgent } from "../../src/testing/a2a/start.js";
import { byHeader } from "../support/app-bench.js";
import { collect, customValue, type Frame, framesOf } from "../support/frames.js";
import { startTestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const as = (tenant: string) => ({ authorization: `tenant ${tenant}` });
const call = (id: string, objective: string, input?: object) => ({
  name: "delegate_to_agent",
  id,
  input: { agent: "research", objective, ...(input === undefined ? {} : { input }) },
});
const script = (...tools: ReturnType<typeof call>[]) => ({
  turns: [[...tools.map((tool) => ({ tools: [tool] })), { say: "Done." }]],
});
const resultsOf = (frames: readonly Frame[]) =>
  frames
    .filter(({ event }) => event.type === "TOOL_CALL_RESULT")
    .map(({ event }) => JSON.parse(String(event.content)));

interface Sent {
  readonly message: { readonly metadata?: Record<string, unknown>; readonly parts: { url?: string }[] };
  readonly headers: Readonly<Record<string, string>>;
}

/** The messages that a remote got, oldest first. */
async function sentTo(remote: ScriptedAgent): Promise<Sent[]> {
  const calls = await remote.seen();
  return calls.flatMap(({ params, headers }) => {
    const { message } = params as Partial<Sent>;
    return message === undefined ? [] : [{ message, headers }];
  });
}

describe("allowedTenants, over HTTP", () => {
  it("an agent of one tenant exists for no other: neither listed, nor offered, nor called", async () => {
    const remote = await startScriptedAgent({ name: "Research Agent", paceMs: 0 });
    const entry = a2a({ name: "research", agentCardUrl: remote.cardUrl });
    await using _ = { [Symbol.asyncDispose]: () => remote.close() };
    await using host = await startTestHost({
      script: script(call("toolu_1", "#say Hello.")),
      host: { authorise: byHeader, subAgents: [{ remote: entry, policy: { allowedTenants: ["acme"] } }] },
    });
    const listed = async (tenant: string) =>
      (await (await host.get("/agents", as(tenant))).json()).subAgents.map(({ key }: { key: string }) => key);
    expect(await listed("acme")).toEqual(["research"]);
    expect(await listed("globex")).toEqual([]);

    const foreign = await collect(await host.post("go", { headers: as("globex") }));
    await verify(foreign);
    expect(resultsOf(foreign)).toMatchObject([{ status: "failed", error: { code: "agent_not_found" } }]);
    expect(await remote.seen()).toEqual([]);

    const own = await collect(await host.post("go", { headers: as("acme") }));
    expect(resultsOf(own)).toMatchObject([{ status: "completed", summary: "Hello." }]);
    const { delegationId } = customValue(own.find(({ event }) => event.name === "subagent.started"));
    expect((await host.get(`/delegations/${delegationId}`, as("globex"))).status).toBe(404);
    const { history } = await (await host.get(`/delegations/${delegationId}`, as("acme"))).json();
    expect(history[0]).toMatchObject({ type: "subagent.started", audit: { tenant: "acme", size: 11 } });
  });
});

describe("what goes to the remote", () => {
  it("lineage and trace context, on the first call and on the cancel; the stream tells nobody", async () => {
    await using host = await startTestHost({ script: script(call("toolu_1", "#say Hi.")) });
    const frames = await collect(await host.post("go"));
    const [sent] = await sentTo(host.remote);
    const { delegationId } = customValue(frames.find(({ event }) => event.name === "subagent.started"));
    expect(sent?.message.metadata?.troupe).toMatchObject({
      runId: "run-1",
      lineage: [{ agent: expect.stringMatching(/^host-.+\/claude$/), delegationId }],
    });
    expect(sent?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(JSON.stringify(frames)).not.toContain("traceparent");
  });

  it("files by reference: a link without any other credential, as long as the remote works", async () => {
    const counts = new Map<string, number>();
    const createId = (prefix: string) => {
      counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
      return `${prefix}-${counts.get(prefix)}`;
    };
    const uri = "host://delegations/del-1/artifacts/report.md";
    await using host = await startTestHost({
      script: script(
        call("toolu_1", "#artifact report.md 100"),
        call("toolu_2", "#input Which?", { artifacts: [{ name: "in.md", uri }] }),
      ),
      policy: { inputArtifacts: "reference" },
      host: {
        createId,
        publicUrl: "https://troupe.example/base/",
        authorise: byHeader,
        hostnames: ["troupe.example"],
      },
    });
    const frames: Frame[] = [];
    let link = "";
    for await (const frame of framesOf(await host.post("go", { headers: as("acme") }))) {
      frames.push(frame);
      if (frame.event.name !== "subagent.input_required") continue;
      const [, sent] = await sentTo(host.remote);
      link = (sent?.message.parts ?? []).flatMap(({ url }) => url ?? [])[0] ?? "";
      expect(link).toMatch(/^https:\/\/troupe\.example\/base\/shared\/[\w-]{43}$/);
      link = link.replace("https://troupe.example/base", "");
      const file = await host.get(link);
      expect(file.status).toBe(200);
      expect(file.headers.get("content-security-policy")).toContain("sandbox");
      expect((await file.arrayBuffer()).byteLength).toBe(100);
      const { delegationId } = customValue(frame);
      const answer = JSON.stringify({ text: "this one" });
      const headers = { ...as("acme"), "content-type": "application/json" };
      await fetch(`${host.url}/delegations/${delegationId}/input`, { method: "POST", headers, body: answer });
    }
    expect(resultsOf(frames)).toMatchObject([{ status: "completed" }, { status: "completed" }]);
    expect(JSON.stringify(frames)).not.toContain(link.replace("/shared/", ""));
    expect((await host.get(link)).status).toBe(404);
    expect((await host.get("/delegations/del-1/artifacts/report.md")).status).toBe(401);
  });

  it("references without an address for them are refused when the host starts", async () => {
    const starting = startTestHost({ policy: { inputArtifacts: "reference" } });
    await expect(starting).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("publicUrl"),
    });
  });
});

describe("a run that another host asks for over AG-UI", () => {
  const input = (troupe: unknown) => ({
    threadId: "thread-1",
    runId: "run-1",
    messages: [{ id: "m", role: "user", content: "go" }],
    forwardedProps: { troupe },
  });
  const step = (agent: string) => ({ agent, delegationId: `del-${agent}` });

  it("goes on with the lineage and the trace that it came with", async () => {
    await using host = await startTestHost({ script: script(call("toolu_1", "#say Hi.")) });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const response = await fetch(`${host.url}/agents/claude/run`, {
      method: "POST",
      headers: { "content-type": "application/json", traceparent },
      body: JSON.stringify(input({ lineage: [step("host-x/codex")], secret: "not ours" })),
    });
    await collect(response);
    const [sent] = await sentTo(host.remote);
    expect(sent?.message.metadata?.troupe).toMatchObject({
      lineage: [step("host-x/codex"), { agent: expect.stringMatching(/\/claude$/) }],
    });
    expect(sent?.headers.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-/);
    expect(JSON.stringify(sent)).not.toContain("not ours");
  });

  it("is refused when the chain is longer than any may be, and nothing is started", async () => {
    await using host = await startTestHost({ script: script(call("toolu_1", "#say Hi.")) });
    const lineage = Array.from({ length: 17 }, (_, index) => step(`host-x/${index}`));
    const response = await host.send("/agents/claude/run", input({ lineage }));
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: { code: "policy_denied" } });
    expect((await host.get("/runs/run-1")).status).toBe(404);
  });
});
