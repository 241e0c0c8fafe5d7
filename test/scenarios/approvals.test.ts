import { describe, expect, it } from "vitest";
import type { AgentOptions } from "../../src/core/agent.js";
import type { ApprovalRequest, PermissionMode } from "../../src/core/approval.js";
import { createHost } from "../../src/host/host.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { agentOf, CAPABLE, FINISHED } from "../support/fake-agent.js";
import { customValue, type Frame, framesOf, nameOf } from "../support/frames.js";

type Kind = ApprovalRequest["kind"];

const KINDS: readonly Kind[] = ["permission", "plan", "question"];
const SCHEMA = {
  type: "object",
  properties: { database: { type: "string", examples: ["SQLite", "Postgres"] } },
  required: ["database"],
};

/** An agent that asks one of each kind, and whose words are what it was told. */
async function bench(options: AgentOptions, capabilities = CAPABLE) {
  const clock = new ManualClock();
  let launched = 0;
  const { agent } = agentOf(
    async (sink) => {
      launched++;
      const never = new AbortController().signal;
      const told = await Promise.all(
        KINDS.map(async (kind) => {
          const { decision, input } = await sink.approve(
            { kind, title: `A ${kind}?`, ...(kind === "question" ? { schema: SCHEMA } : {}) },
            never,
          );
          return `${kind}: ${decision}${input === undefined ? "" : ` ${JSON.stringify(input)}`}`;
        }),
      );
      return { ...FINISHED, text: told.join("; ") };
    },
    { clock, ...options },
    capabilities,
  );
  const host = await createHost({ agents: { claude: agent }, clock });
  const post = (path: string, body: object) =>
    host.fetch(
      new Request(`http://127.0.0.1:4100${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
  return {
    clock,
    get launched() {
      return launched;
    },
    /** Runs it over HTTP. @param asked is called with each approval that reaches a person */
    async run(asked: (approval: ApprovalRequest) => Promise<void> | void = () => undefined) {
      const frames: Frame[] = [];
      const messages = [{ id: "m", role: "user", content: "Go" }];
      for await (const frame of framesOf(
        await post("/agents/claude/run", { threadId: "t", runId: "r", messages }),
      )) {
        frames.push(frame);
        if (nameOf(frame) === "CUSTOM(approval.requested)")
          await asked(customValue(frame) as unknown as ApprovalRequest);
      }
      return frames;
    },
    decide: async (approvalId: string, body: object) => (await post(`/approvals/${approvalId}`, body)).status,
    [Symbol.asyncDispose]: () => host.close(),
  };
}

const resultOf = (frames: readonly Frame[]) =>
  (frames.at(-1)?.event.result as { text: string } | undefined)?.text;
const askedIn = (frames: readonly Frame[]) =>
  frames
    .filter((frame) => nameOf(frame) === "CUSTOM(approval.requested)")
    .map((frame) => customValue(frame).kind);

describe("approvals by kind, over HTTP", () => {
  it.each<[string, AgentOptions["permissions"], readonly Kind[], string]>([
    [
      "by default a person decides all",
      undefined,
      KINDS,
      "permission: approve; plan: approve; question: approve",
    ],
    [
      "a mode alone is for permissions",
      "deny",
      ["plan", "question"],
      "permission: deny; plan: approve; question: approve",
    ],
    [
      "each kind has its own",
      { permission: "ask", plan: "deny", question: "allow" },
      ["permission"],
      'permission: approve; plan: deny; question: approve {"database":"SQLite"}',
    ],
    [
      "all allowed",
      { permission: "allow", plan: "allow", question: "allow" },
      [],
      'permission: approve; plan: approve; question: approve {"database":"SQLite"}',
    ],
    [
      "all denied",
      { permission: "deny", plan: "deny", question: "deny" },
      [],
      "permission: deny; plan: deny; question: deny",
    ],
    [
      "kinds that are not named are asked",
      { permission: "allow" },
      ["plan", "question"],
      "permission: approve; plan: approve; question: approve",
    ],
  ])("%s", async (_what, permissions, asked, result) => {
    await using host = await bench(permissions === undefined ? {} : { permissions });
    const frames = await host.run(async ({ approvalId }) => {
      expect(await host.decide(approvalId, { decision: "approve" })).toBe(202);
      expect(await host.decide(approvalId, { decision: "deny" })).toBe(409);
    });
    expect(askedIn(frames)).toEqual(asked);
    expect(resultOf(frames)).toBe(result);
  });

  it("what nobody answers in time is denied, and a person who comes later is told so", async () => {
    await using host = await bench({ approvalTimeoutMs: 1_000, permissions: { question: "deny" } });
    const open: string[] = [];
    const frames = await host.run(async ({ approvalId, kind, expiresAt }) => {
      expect(expiresAt).toBe(host.clock.now() + 1_000);
      open.push(approvalId);
      if (kind === "plan") await host.clock.advance(1_000);
    });
    expect(resultOf(frames)).toBe("permission: deny; plan: deny; question: deny");
    const by = frames
      .filter((frame) => nameOf(frame) === "CUSTOM(approval.resolved)")
      .map((frame) => customValue(frame).by);
    expect(by).toEqual(["timeout", "timeout"]);
    // The run is over, and its approvals with it.
    for (const id of open) expect([404, 409]).toContain(await host.decide(id, { decision: "approve" }));
  });

  it.each<[string, AgentOptions]>([
    ["ask", { permissions: "ask" }],
    ["deny", { permissions: "deny" }],
    ["one kind", { permissions: { permission: "allow", plan: "ask" } }],
    ["code that decides", { onApproval: () => ({ decision: "deny" as const }) }],
  ])(
    "a program that never asks is not started for somebody who counts on being asked: %s",
    async (_what, options) => {
      await using host = await bench(options, { ...CAPABLE, approvals: false });
      const frames = await host.run();
      expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "capability_unsupported" });
      expect(host.launched).toBe(0);
    },
  );

  it.each<[string, { permissions?: PermissionMode }]>([
    ["allow", { permissions: "allow" }],
    ["nothing said", {}],
  ])("and for others it is: %s", async (_what, options) => {
    const { agent } = agentOf(() => FINISHED, options, { ...CAPABLE, approvals: false });
    await expect(agent.run("Go").result).resolves.toMatchObject({ summary: "" });
  });
});
