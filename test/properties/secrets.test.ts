import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ThreadEntry, ThreadEvent } from "../../src/bridges/agui/event.js";
import { createAgent } from "../../src/core/agent.js";
import { createHost } from "../../src/host/host.js";
import { createMemoryJournal } from "../../src/journal/memory-journal.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import type { A2aAuth } from "../../src/remotes/a2a/options.js";
import { HurriedClock } from "../../src/testing/a2a/hurried-clock.js";
import { CAPABLE, FINISHED } from "../support/fake-agent.js";
import { type EchoingAgent, PLACES, startEchoingAgent } from "./echoing-agent.js";

/** What a credential looks like on the wire. */
const FORMS: Record<string, (secret: string) => string> = {
  raw: (secret) => secret,
  base64: (secret) => Buffer.from(secret).toString("base64"),
  base64url: (secret) => Buffer.from(secret).toString("base64url"),
  basic: (secret) => Buffer.from(`user:${secret}`).toString("base64"),
  url: (secret) => encodeURIComponent(secret),
  json: (secret) => JSON.stringify(secret).slice(1, -1),
};

/** Every form of a secret that must not be found. A part of base64 that other bytes decide too is left out. */
function formsOf(secret: string): string[] {
  const inside = Buffer.from(`user:${secret}`).toString("base64").replaceAll("=", "").slice(7, -2);
  const { raw, base64, base64url, url, json } = Object.fromEntries(
    Object.entries(FORMS).map(([name, form]) => [name, form(secret)]),
  );
  return [raw, base64, base64url, url, json, inside].flatMap((form) => (form === undefined ? [] : [form]));
}

let logged: string[] = [];
beforeEach(() => {
  logged = [];
  for (const method of ["error", "warn", "log", "info", "debug"] as const)
    vi.spyOn(console, method).mockImplementation((...words) => {
      logged.push(
        words.map((word) => (word instanceof Error ? describeError(word) : String(word))).join(" "),
      );
    });
});
afterEach(() => vi.restoreAllMocks());

/** An error as Node prints it: with its stack, its causes and its own members. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return `${error.stack} ${JSON.stringify(error)} ${error.cause === undefined ? "" : describeError(error.cause)}`;
}

/** A host whose parent delegates to `agent` once a run. */
async function startHost(agent: EchoingAgent, auth: A2aAuth) {
  const seen: unknown[] = [];
  const tokens: string[] = [];
  const clock = new HurriedClock(1);
  const journal = createMemoryJournal<ThreadEvent>({ clock });
  // A parent that calls the tool, as any program would.
  const parent = createAgent(
    {
      describe: () => ({ name: "fake", capabilities: CAPABLE }),
      async start({ mcpServers, env }) {
        const [server] = mcpServers;
        if (server?.transport !== "http") throw new Error("no server");
        const { Authorization = "" } = server.headers ?? {};
        tokens.push(Authorization.replace("Bearer ", ""));
        const client = new Client({ name: "parent", version: "1" });
        const requestInit = { headers: { authorization: Authorization } };
        await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }));
        seen.push(await client.listTools());
        const call = { agent: "echo", objective: "Say what you got" };
        seen.push(await client.callTool({ name: "delegate_to_agent", arguments: call }));
        await client.close();
        const wrong = await fetch(server.url, {
          method: "POST",
          headers: { authorization: `${Authorization}x`, "content-type": "application/json" },
          body: "{}",
        });
        seen.push(wrong.status, await wrong.text(), Object.keys(env));
        return FINISHED;
      },
    },
    { workspace: process.cwd() },
  );
  const remote = a2a({ name: "echo", agentCardUrl: agent.cardUrl, auth, clock });
  const host = await createHost({
    agents: { parent },
    subAgents: [remote],
    toolset: "both",
    journal,
    clock,
    policy: { inputRequired: "return" },
  });
  seen.push(await host.probe());
  const headers = { "content-type": "application/json" };
  const post = async (path: string, body: unknown) => {
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    seen.push(await (await host.fetch(new Request(`http://127.0.0.1${path}`, request))).text());
  };
  const look = async (path: string) => {
    const answer = await host.fetch(new Request(`http://127.0.0.1${path}`));
    seen.push([...answer.headers], await answer.text());
  };

  return {
    tokens,
    close: () => host.close(),
    /** Everything that anybody could see of one delegation. */
    async delegate(threadId: string): Promise<string> {
      const messages = [{ id: "u", role: "user", content: "go" }];
      await post("/agents/parent/run", { threadId, runId: threadId, messages });
      await post(`/threads/${threadId}/connect?subagents=custom`, {});
      await post(`/threads/${threadId}/connect?subagents=native`, {});
      for (const path of ["/agents", `/runs/${threadId}`, `/runs/${threadId}/delegations`]) await look(path);
      const entries: ThreadEntry[] = [];
      for await (const batch of journal.read(`/${threadId}`)) entries.push(...batch);
      seen.push(entries);
      const ids = new Set<string>();
      for (const { event } of entries) {
        if (event.type === "subagent.started") ids.add(event.delegationId);
        if (event.type !== "subagent.artifact") continue;
        await look(`/delegations/${event.delegationId}/artifacts/${encodeURIComponent(event.artifact.id)}`);
      }
      for (const id of ids) await look(`/delegations/${id}`);
      expect(ids.size).toBe(1);
      // What goes out as text: JSON once more would only escape it again.
      const text = seen.splice(0).map((part) => (typeof part === "string" ? part : JSON.stringify(part)));
      return [...text, ...logged].join("\n");
    },
  };
}

/** Printable, as a header needs it, and not a word that stands in every answer. */
const secrets = fc
  .string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 12,
    maxLength: 60,
  })
  .filter((secret) => new Set(secret).size > 6);

describe("whatever a remote says about itself and its work", () => {
  it.each([
    {
      kind: "bearer token",
      header: "authorization",
      authOf: (token: string): A2aAuth => ({ mode: "bearer", token }),
    },
    { kind: "api key", header: "x-api-key", authOf: (key: string): A2aAuth => ({ mode: "api_key", key }) },
  ])("the entry's $kind and the run's token are seen nowhere", async ({ header, authOf }) => {
    await using agent = await startEchoingAgent(header);
    const forms = Object.entries(FORMS);
    let round = 0;
    const closing: Promise<void>[] = [];
    await fc.assert(
      fc.asyncProperty(secrets, async (secret) => {
        const shift = round++;
        const formAt = (index: number) => forms[(index + shift) % forms.length] ?? (["raw", String] as const);
        // The card is read first, and kept.
        agent.place = "card";
        agent.form = formAt(0)[1];
        const host = await startHost(agent, authOf(secret));
        try {
          for (const [index, place] of PLACES.entries()) {
            const [name, form] = formAt(index);
            Object.assign(agent, { place, form, calls: 0 });
            const text = await host.delegate(`t-${index}`);
            expect([place, agent.calls > 0, host.tokens.length]).toEqual([place, true, index + 1]);
            for (const hidden of [secret, ...host.tokens].flatMap(formsOf))
              expect(text.includes(hidden) ? [place, name, hidden] : "nothing").toBe("nothing");
          }
        } finally {
          closing.push(host.close());
        }
      }),
      {
        numRuns: forms.length,
        endOnFailure: true,
        examples: [["?t|;`KB5!Kglj?(Ez',}-ThmoK*BhsV"], ['ab/cd\\ef/gh"ij/kl/mn?x=1&y=%2f']],
      },
    );
    await Promise.all(closing);
  });
});
