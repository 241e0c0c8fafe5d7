import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { collect, customValue, type Frame, framesOf, nameOf } from "../support/frames.js";
import { verify } from "../support/verify.js";
import { type Command, type Folder, makeFolder, start, troupe } from "./troupe.js";

const CLIENT = fileURLToPath(new URL("./http-agent.js", import.meta.url));
const GOLDEN = [
  "RUN_STARTED",
  "TOOL_CALL_START",
  "CUSTOM(subagent.started)",
  "CUSTOM(subagent.text.start)",
  "CUSTOM(subagent.text.delta)",
  "CUSTOM(subagent.artifact)",
  "CUSTOM(subagent.text.end)",
  "CUSTOM(subagent.finished)",
  "TOOL_CALL_RESULT",
  "TEXT_MESSAGE_START",
  "TEXT_MESSAGE_CONTENT",
  "TEXT_MESSAGE_END",
  "RUN_FINISHED",
];
const PROMPT = "#say Found.\n#artifact notes.md 64";

let folder: Folder;
let demo: Command;
let url: string;
let mcpUrl: string;

beforeAll(async () => {
  folder = await makeFolder();
  demo = troupe(["demo", "--port", "0", "--json"], { cwd: folder.path });
  await demo.says("\n");
  expect(demo.lines).toHaveLength(1);
  ({ url, mcpUrl } = demo.lines[0] as { url: string; mcpUrl: string });
});

afterAll(async () => {
  demo.child.kill("SIGTERM");
  expect(await demo.exit).toBe(0);
  expect(demo.stdout.trim().split("\n")).toHaveLength(1);
  await folder[Symbol.asyncDispose]();
});

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

function run(threadId: string, runId: string, content: string): Promise<Response> {
  return post("/agents/claude/run", { threadId, runId, messages: [{ id: "m", role: "user", content }] });
}

/** What an outside AG-UI client of version 1.0.0 is told, in a process of its own. */
async function outsideClient(query: string, threadId: string) {
  await using client = start(
    process.execPath,
    [CLIENT, `${url}/agents/claude/run${query}`, threadId, `${threadId}-run`, PROMPT],
    {
      cwd: folder.path,
    },
  );
  const code = await client.exit;
  expect([code, client.stderr]).toEqual([0, ""]);
  return client.lines;
}

/** Adjacent events of one name count once: the demo says its words one by one. */
function outline(names: readonly string[], quiet: readonly string[]): string[] {
  return names.filter((name, index) => !quiet.includes(name) && name !== names[index - 1]);
}

it("case 098: an outside AG-UI client gets the golden sequence", async () => {
  const lines = await outsideClient("?subagents=custom", "outside");
  const frames = lines.flatMap(({ event }) =>
    event === undefined ? [] : [{ id: undefined, event } as Frame],
  );
  // The parent's first words are the demo's own.
  const from = frames.findIndex(({ event }) => event.type === "TOOL_CALL_START");
  const names = ["RUN_STARTED", ...frames.slice(from).map(nameOf)];
  expect(frames[0]?.event.type).toBe("RUN_STARTED");
  const quiet = ["TOOL_CALL_ARGS", "TOOL_CALL_END", "CUSTOM(subagent.status)"];
  expect(outline(names, quiet)).toEqual(GOLDEN);
  const call = frames[from]?.event.toolCallId;
  for (const frame of frames.filter(({ event }) => event.name?.startsWith("subagent.")))
    expect(customValue(frame)).toMatchObject({
      parentToolCallId: call,
      agentKey: "research",
      protocol: "a2a",
    });
  const { messages } = lines.at(-1) as { messages: { role: string; content?: string }[] };
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "tool", "assistant"]);
  expect(messages.at(-1)?.content).toBe("The research agent answered: Found.");
});

it("case 089: one that speaks AG-UI 1.0 and asks for nothing gets subagents of the protocol's own", async () => {
  const lines = await outsideClient("", "native");
  const names = lines.flatMap(({ event }) => (event as { type: string } | undefined)?.type ?? []);
  expect(names).toContain("SUBAGENT_STARTED");
  expect(names).toContain("SUBAGENT_FINISHED");
  expect(names.at(-1)).toBe("RUN_FINISHED");
});

it("a reader gets exactly the frames that it has not seen, whichever was the last", async () => {
  const all = await collect(await run("thread-1", "run-1", PROMPT));
  await verify(all);
  const end = all.at(-1)?.id;
  for (const seen of [0, 1, Math.floor(all.length / 2), all.length - 2]) {
    const headers = { "last-event-id": all[seen]?.id ?? "" };
    const rest = await collect(
      await fetch(`${url}/threads/thread-1/events`, { headers }),
      ({ id }) => id === end,
    );
    expect(rest).toEqual(all.slice(seen + 1));
    const query = await collect(
      await fetch(`${url}/threads/thread-1/events?after=${all[seen]?.id}`),
      ({ id }) => id === end,
    );
    expect(query).toEqual(rest);
  }
  expect(await collect(await fetch(`${url}/threads/thread-1/events`), ({ id }) => id === end)).toEqual(all);
});

it("a cancel in mid-delegation ends the subagent before the run", async () => {
  const frames: Frame[] = [];
  for await (const frame of framesOf(await run("thread-2", "run-2", "#say Busy.\n#hang"))) {
    frames.push(frame);
    if (frame.event.name === "subagent.text.delta")
      expect((await post("/runs/run-2/cancel", {})).status).toBe(202);
  }
  await verify(frames);
  const names = frames.map(nameOf);
  expect(names.indexOf("CUSTOM(subagent.cancelled)")).toBeGreaterThan(0);
  expect(names.indexOf("CUSTOM(subagent.cancelled)")).toBeLessThan(names.indexOf("RUN_FINISHED"));
  expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "cancelled" } });
});

it("the MCP port is closed to everybody without a token", async () => {
  for (const authorization of [undefined, "Bearer wrong", "Basic eDp5"]) {
    const headers = {
      "content-type": "application/json",
      ...(authorization === undefined ? {} : { authorization }),
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const answer = await fetch(mcpUrl, { method: "POST", headers, body });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
    expect(await answer.text()).not.toMatch(/delegate|research/);
  }
});

it("serves the console, its health, and what agents there are", async () => {
  const page = await fetch(`${url}/`);
  expect(page.headers.get("content-type")).toContain("text/html");
  expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ status: "ok" });
  const agents = await (await fetch(`${url}/agents`)).json();
  expect(agents).toMatchObject({
    agents: [{ key: "claude" }],
    subAgents: [{ key: "research", status: "ready" }],
  });
  expect(JSON.stringify(agents)).not.toContain("http://");
});

it("without --json tells a person where to look", async () => {
  await using command = troupe(["demo", "--port", "0", "--no-open"], { cwd: folder.path });
  await command.says("Ctrl-C stops it.");
  expect(command.stdout).toMatch(/Console {3}http:\/\/127\.0\.0\.1:\d+\/\n/);
  expect(command.stdout).toMatch(/AG-UI {5}POST http:\/\/127\.0\.0\.1:\d+\/agents\/claude\/run\n/);
  command.child.kill("SIGINT");
  expect(await command.exit).toBe(0);
  expect(command.stderr).toContain("Stopping");
});
