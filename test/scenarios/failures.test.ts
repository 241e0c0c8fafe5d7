import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DelegationPolicy } from "../../src/delegation/policy.js";
import { type ScriptedAgent, startScriptedAgent } from "../../src/testing/a2a/start.js";
import { delegateOnce } from "../support/remote-delegation.js";

/** A row of the specification: the test that proves it, by file and words of its title, or a test below. */
type Proof = readonly [file: string, title: string] | "below";

/** S1 section 16: what each class of failure looks like to the model and to people. */
const FAILURES: Record<string, Proof> = {
  agent_not_found: ["test/scenarios/delegation.test.ts", "scenario 8: an unregistered agent is refused"],
  agent_unavailable: "below",
  capability_unsupported: "below",
  remote_rejected: ["test/scenarios/delegation.test.ts", "case 108: a rejected task is an error"],
  remote_failed: [
    "test/scenarios/delegation.test.ts",
    "scenario 4: a remote failure is visible and structured",
  ],
  remote_timeout: ["test/scenarios/delegation.test.ts", "cases 102, 106: the host's own deadline ends it"],
  stream_interrupted: "below",
  artifact_too_large: "below",
  input_required: ["test/scenarios/delegation.test.ts", "case 032: a remote that asks for input is stopped"],
};

/** S1 section 21: risks and the tests that they ask for. */
const RISKS: Record<string, Proof> = {
  "Remote stream drops before terminal state": ["test/chaos/chaos.test.ts", "end once and truly"],
  "Remote sends duplicate events": [
    "src/delegation/delegation.test.ts",
    "S1 21: repeated terminals change nothing",
  ],
  "Remote sends terminal before started": [
    "src/delegation/delegation.test.ts",
    "S1 21: a terminal before anything else",
  ],
  "Remote never sends terminal": [
    "src/delegation/active-delegation.test.ts",
    "case 102: ends the delegation by the host's own timer",
  ],
  "Parent cancels but remote cancel hangs": [
    "src/delegation/active-delegation.test.ts",
    "S1 21: a remote that never answers is given up in time",
  ],
  "Slow browser consumer": ["test/chaos/slow-reader.test.ts", "hold up nobody"],
  "Huge artifact": "below",
  "Malformed Agent Card": "below",
  "Auth failure": "below",
  "Concurrent delegations": [
    "test/scenarios/delegation.test.ts",
    "scenario 6: two delegations stream at once",
  ],
  "Weak correlation ambiguity": [
    "src/delegation/correlation.test.ts",
    "S1 21: two equal calls are ambiguous",
  ],
  "Race on run shutdown": ["src/delegation/delegator.test.ts", "while a delegation is starting"],
  "Goroutine leak": ["test/leaks/leaks.test.ts", "cases 011, 030: 200 runs"],
  "Event replay buffer overflow": ["src/journal/memory-thread.test.ts", "then hears of the gap"],
  "Remote input-required unsupported by policy": [
    "test/scenarios/delegation.test.ts",
    "case 032: a remote that asks for input is stopped",
  ],
};

describe.each([
  ["S1 section 16", FAILURES],
  ["S1 section 21", RISKS],
] as const)("%s", (_section, rows) => {
  const elsewhere = Object.entries(rows).flatMap(([row, proof]) =>
    proof === "below" ? [] : [[row, ...proof] as const],
  );
  it.each(elsewhere)("%s: proven in %s, %s", (_row, file, title) => {
    expect(readFileSync(file, "utf8")).toContain(title);
  });
});

/** A card that the agent of a row shows, or nothing but the status. */
let shown: { readonly status: number; readonly body: string } = { status: 404, body: "" };
let server: Server;
let requests: string[] = [];
let agent: ScriptedAgent;
beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(shown.status, { "content-type": "application/json" }).end(shown.body);
  });
  const listening = new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  [agent] = await Promise.all([startScriptedAgent({ paceMs: 0, token: "a-right-token" }), listening]);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await agent.close();
});

const delegate = (
  agentCardUrl: string,
  objective: string,
  { policy = {}, token = "a-right-token" }: { policy?: Partial<DelegationPolicy>; token?: string } = {},
) => delegateOnce({ agentCardUrl, auth: { mode: "bearer", token } }, objective, policy);

const here = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/agent-card.json`;
const sends = (all: readonly string[]) => all.filter((request) => request.startsWith("POST"));

describe("the rows that nothing else proves", () => {
  it("agent_unavailable: retryable, and says what was tried", async () => {
    shown = { status: 503, body: "" };
    const { result } = await delegate(here(), "x");
    expect(result.error).toMatchObject({ code: "agent_unavailable", retryable: true });
    expect(result.error?.message).toContain("HTTP 503");
  });

  it("capability_unsupported: an extension that the agent requires; nothing is sent", async () => {
    requests = [];
    const supportedInterfaces = [{ url: here(), protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    const capabilities = { extensions: [{ uri: "https://x.example/pay", required: true }] };
    shown = { status: 200, body: JSON.stringify({ name: "x", supportedInterfaces, capabilities }) };
    const { result } = await delegate(here(), "x");
    expect(result.error).toMatchObject({ code: "capability_unsupported", retryable: false });
    expect(result.error?.message).toContain("https://x.example/pay");
    expect(sends(requests)).toEqual([]);
  });

  it.each(["not json", "[]", '{"name":1}', `{"supportedInterfaces":${"[".repeat(10_000)}`])(
    "malformed agent card %.20s: refused before anything is sent",
    async (body) => {
      requests = [];
      shown = { status: 200, body };
      const { result } = await delegate(here(), "x");
      expect(result.error).toMatchObject({ code: "agent_unavailable" });
      expect(sends(requests)).toEqual([]);
    },
  );

  it("auth failure: agent_unavailable, what to check, and not the credential", async () => {
    const { result, events } = await delegate(agent.cardUrl, "#say x", { token: "a-wrong-token" });
    expect(result.error).toMatchObject({ code: "agent_unavailable" });
    expect(result.error?.message).toContain("auth");
    expect(JSON.stringify([result, events])).not.toContain("a-wrong-token");
  });

  it("stream_interrupted: recovered before it is a failure, and told as a status", async () => {
    const { result, events } = await delegate(
      agent.cardUrl,
      "#say One.\n#delay 30\n#drop\n#delay 30\n#say Two.",
    );
    expect(result).toMatchObject({ status: "completed", summary: "One.Two." });
    const said = events.map((event) => (event.type === "subagent.text.delta" ? event.delta : "")).join("");
    expect(said).toBe("One.Two.");
    const statuses = events.flatMap((event) => (event.type === "subagent.status" ? [event.status] : []));
    expect(statuses).toContain("reconnecting");
  });

  it("artifact_too_large, huge artifact: a partial result with the artifact's error, and nothing of it inline", async () => {
    const script = "#say Here it is.\n#artifact huge.bin 300000\n#artifact small.md 100";
    const { result, events } = await delegate(agent.cardUrl, script, {
      policy: { maxArtifactBytes: 100_000 },
    });
    expect(result).toMatchObject({ status: "completed", summary: "Here it is." });
    expect(result.artifacts).toMatchObject([
      { name: "huge.bin", error: { code: "artifact_too_large" } },
      { name: "small.md", size: 100 },
    ]);
    // A later event with the same id replaces the earlier one.
    const told = new Map(
      events.flatMap((event) =>
        event.type === "subagent.artifact" ? [[event.artifact.name, event.error?.code]] : [],
      ) as [string, string | undefined][],
    );
    expect([...told]).toEqual([
      ["huge.bin", "artifact_too_large"],
      ["small.md", undefined],
    ]);
    expect(JSON.stringify(events).length).toBeLessThan(10_000);
  });
});
