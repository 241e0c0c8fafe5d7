import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { DelegationBench } from "../../test/support/delegations.js";
import { ArtifactLinks } from "./artifact-links.js";
import type { DelegatingRun } from "./delegating-run.js";
import type { DelegationAudit } from "./events.js";

const NOTHING = { timers: 0, permits: 0 };
const run = (more: Partial<DelegatingRun>): DelegatingRun => ({ runId: "run-9", thread: "/t9", ...more });
const step = (agent: string, card?: string) => ({
  agent,
  delegationId: `del-${agent}`,
  ...(card === undefined ? {} : { card }),
});

describe("tenants", () => {
  it("an agent of other tenants does not exist, and nobody is asked", async () => {
    const bench = new DelegationBench({ allowedTenants: ["acme"] });
    for (const tenant of ["globex", "", undefined]) {
      const other = bench.delegator.openRun(run(tenant === undefined ? {} : { tenant }));
      const { answer } = await bench.call("x", { run: other });
      await expect(answer).rejects.toMatchObject({
        code: "agent_not_found",
        message: expect.stringContaining("Agents: none"),
      });
    }
    expect(bench.remote.described).toBe(0);
    expect(bench.registry.forTenant("globex").states()).toEqual([]);
    expect(bench.left).toEqual(NOTHING);
  });

  it("for a tenant that may, it is there as for anybody", async () => {
    const bench = new DelegationBench({ allowedTenants: ["acme"] });
    const { answer } = await bench.call("x", { run: bench.delegator.openRun(run({ tenant: "acme" })) });
    bench.task.send({ type: "completed", message: "yes" });
    await bench.clock.advance(0);
    expect(await answer).toMatchObject({ status: "completed", summary: "yes" });
    expect(bench.registry.forTenant("acme")).toBe(bench.registry);
  });

  it("who sees the same agents gets the same directory, so that tools are built once", () => {
    const bench = new DelegationBench({ allowedTenants: ["acme"] });
    expect(bench.registry.forTenant("a")).toBe(bench.registry.forTenant("b"));
  });
});

describe("depth and cycles", () => {
  it.each([
    [
      "too deep",
      { maxDepth: 2 },
      { lineage: [step("h/a"), step("h/b")], agent: "h/c" },
      /2 delegations deep/,
      0,
    ],
    ["the same agent", {}, { lineage: [step("h/a"), step("h/b")], agent: "h/a" }, /circle/, 0],
    ["the same card", {}, { lineage: [step("h/a", "f1")], agent: "h/b" }, /circle/, 1],
  ] as const)(
    "%s: refused, shown, and the remote gets no task",
    async (_, policy, origin, words, described) => {
      const bench = new DelegationBench(policy);
      const { answer } = await bench.call("x", { run: bench.delegator.openRun(run(origin)) });
      expect(await answer).toMatchObject({
        status: "failed",
        error: { code: "policy_denied", message: expect.stringMatching(words), retryable: false },
      });
      expect(bench.types()).toEqual(["started", "failed"]);
      expect(bench.remote.tasks).toEqual([]);
      expect(bench.remote.described).toBe(described);
      expect(bench.left).toEqual(NOTHING);
    },
  );

  it("each delegation adds itself to what led to it", async () => {
    const bench = new DelegationBench();
    const lineage = [step("h/a")];
    await bench.call("x", { run: bench.delegator.openRun(run({ lineage, agent: "h/b" })) });
    expect(bench.task.task.metadata).toMatchObject({
      troupe: { lineage: [...lineage, { agent: "h/b", delegationId: "del-1", card: "f1" }] },
    });
  });
});

describe("the audit record", () => {
  async function recorded(auditLevel: "digest" | "full"): Promise<DelegationAudit> {
    const bench = new DelegationBench({ auditLevel });
    const { answer } = await bench.call("Find out", {
      callId: "toolu_1",
      run: bench.delegator.openRun(run({ tenant: "acme" })),
      constraints: { timeout_seconds: 60 },
    });
    bench.task.send({ type: "completed" });
    await bench.clock.advance(0);
    await answer;
    const [started, ...others] = bench.events;
    expect(JSON.stringify(others)).not.toContain("audit");
    if (started?.type !== "subagent.started" || started.audit === undefined) throw new Error("no audit");
    expect(started.audit.messageId).toBe(bench.task.task.messageId);
    expect(started.audit.traceparent).toBe(bench.task.task.traceparent);
    return started.audit;
  }

  it("says who asked, and what was sent by size and sha256", async () => {
    expect(await recorded("digest")).toEqual({
      tenant: "acme",
      tool: "delegate_to_agent",
      callId: "toolu_1",
      messageId: expect.any(String),
      size: 8,
      sha256: createHash("sha256").update("Find out").digest("hex"),
      artifacts: [],
      lineage: [],
      traceparent: expect.any(String),
      timeoutMs: 60_000,
    });
  });

  it("in full, the text as well", async () => {
    expect(await recorded("full")).toMatchObject({ text: "Find out" });
  });
});

describe("input artifacts by reference", () => {
  it("the remote gets a link that ends with the delegation, and no bytes", async () => {
    const links = new ArtifactLinks("https://host.example/shared/");
    const bench = new DelegationBench({ inputArtifacts: "reference" }, { links });
    await bench.call();
    const chunk = {
      id: "a",
      name: "in.md",
      mimeType: "text/markdown",
      mode: "append",
      bytes: Buffer.from("hi"),
      last: true,
    } as const;
    bench.task.send({ type: "artifact", chunk }, { type: "completed" });
    await bench.clock.advance(0);
    const uri = "host://delegations/del-1/artifacts/in.md";
    const input = { agent: "research", objective: "Read it", input: { artifacts: [{ name: "in.md", uri }] } };
    void bench.run.delegate(input, { tool: "t", input });
    await bench.clock.advance(0);
    const [artifact] = bench.task.task.artifacts;
    if (artifact === undefined || !("url" in artifact)) throw new Error("no link");
    expect(artifact).not.toHaveProperty("bytes");
    const token = artifact.url.replace("https://host.example/shared/", "");
    expect(links.find(token)).toMatchObject({ delegationId: "del-1", artifactId: "a" });
    expect(JSON.stringify(bench.events)).not.toContain(token);
    bench.task.send({ type: "completed" });
    await bench.clock.advance(0);
    expect(links.find(token)).toBeUndefined();
  });
});
