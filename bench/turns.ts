import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { programEnvironment } from "../dist/core/environment.js";
import { scriptedClaude, scriptedCodex } from "../dist/testing/index.js";
import { readSse } from "../dist/wire/sse-reader.js";
import { median, type Row, row, start } from "./measure.js";

const WORDS = 200;
const ROUNDS = 25;
const PROMPT = "Say it.";
/** What both programs do: the same words in the same pieces. */
const SCRIPT = JSON.stringify({
  turns: [[{ say: Array.from({ length: WORDS }, (_, index) => `word-${index}`).join(" ") }]],
});
const LAST_WORD = `word-${WORDS - 1}`;

let runs = 0;

/** Milliseconds from the POST to `RUN_FINISHED`, which comes when the program is gone. */
async function throughHost(url: string, agent: string): Promise<number> {
  const runId = `run-${++runs}`;
  const began = performance.now();
  const response = await fetch(`${url}/agents/${agent}/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: runId, runId, messages: [{ id: "m", role: "user", content: PROMPT }] }),
  });
  if (response.body === null || !response.ok) throw new Error(`status ${response.status}`);
  let said = "";
  for await (const { data } of readSse(response.body, { maxEventBytes: 2 ** 26 })) {
    const event = JSON.parse(data);
    if (event.type === "TEXT_MESSAGE_CONTENT") said += event.delta;
    if (event.type === "RUN_FINISHED") return checked(performance.now() - began, said);
  }
  throw new Error("The run did not finish.");
}

/** How a program is spoken to without anything around it. */
interface Conversation {
  readonly command: readonly string[];
  readonly first: object;
  /** What is written after a line; `end` ends its input. */
  readonly after: (line: Record<string, unknown>) => readonly object[] | "end" | undefined;
  readonly textOf: (line: Record<string, unknown>) => string | undefined;
}

type Json = Record<string, never>;

const CONVERSATIONS: Readonly<Record<"claude" | "codex", Conversation>> = {
  claude: {
    command: [
      ...scriptedClaude(),
      ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
      ...["--include-partial-messages", "--strict-mcp-config", "--await-initialize"],
      ...["--permission-prompt-tool", "stdio", "--permission-mode", "manual", "--setting-sources", ""],
    ],
    first: { type: "control_request", request_id: "1", request: { subtype: "initialize", mcpServers: {} } },
    after: ({ type }) => {
      if (type === "control_response")
        return [{ type: "user", message: { role: "user", content: [{ type: "text", text: PROMPT }] } }];
      return type === "result" ? "end" : undefined;
    },
    textOf: ({ type, event }) =>
      type === "stream_event" ? ((event as Json).delta as Json | undefined)?.text : undefined,
  },
  codex: {
    command: [...scriptedCodex(), "app-server"],
    first: {
      id: 1,
      method: "initialize",
      params: { clientInfo: { name: "bench", title: "Bench", version: "1" } },
    },
    after: ({ id, method, result }) => {
      if (id === 1) return [{ method: "initialized" }, { id: 2, method: "account/read", params: {} }];
      if (id === 2) return [{ id: 3, method: "thread/start", params: {} }];
      const threadId = ((result as Json | undefined)?.thread as Json | undefined)?.id;
      if (id === 3)
        return [
          { id: 4, method: "turn/start", params: { threadId, input: [{ type: "text", text: PROMPT }] } },
        ];
      return method === "turn/completed" ? "end" : undefined;
    },
    textOf: ({ method, params }) =>
      method === "item/agentMessage/delta" ? (params as Json).delta : undefined,
  },
};

/** Milliseconds from the program's start to its end, for the same turn. */
async function bare({ command, first, after, textOf }: Conversation): Promise<number> {
  const [file = "", ...args] = command;
  const began = performance.now();
  const child: ChildProcess = spawn(file, args, {
    // The same as the drivers give: certificates of the machine's own alone cost a program tens of milliseconds.
    env: programEnvironment(process.env, [], { TROUPE_SCRIPT_JSON: SCRIPT }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("no pipes");
  const gone = once(child, "exit");
  const write = (value: object) => stdin.write(`${JSON.stringify(value)}\n`);
  write(first);
  let said = "";
  createInterface({ input: stdout }).on("line", (text) => {
    const line = JSON.parse(text);
    said += textOf(line) ?? "";
    const next = after(line);
    if (next === "end") stdin.end();
    else for (const value of next ?? []) write(value);
  });
  await gone;
  return checked(performance.now() - began, said);
}

function checked(took: number, said: string): number {
  if (!said.trimEnd().endsWith(LAST_WORD)) throw new Error(`The answer is not whole: ${said.slice(-40)}`);
  return took;
}

/** What a turn costs around the program: from the POST to its end, against the program alone. */
export async function turnRows(): Promise<Row[]> {
  const host = await start("./turn-host.ts", SCRIPT);
  try {
    const rows: Row[] = [];
    for (const agent of ["claude", "codex"] as const) {
      const times = { host: [] as number[], bare: [] as number[] };
      for (let round = -3; round < ROUNDS; round++) {
        const [one, other] = [await throughHost(host.url, agent), await bare(CONVERSATIONS[agent])];
        if (round < 0) continue;
        times.host.push(one);
        times.bare.push(other);
      }
      const what = `one turn of ${agent}, ${WORDS} words, from POST to RUN_FINISHED, p50`;
      rows.push(
        row(`turn-${agent}`, what, "ms", median(times.host), median(times.bare), "the program alone"),
      );
    }
    return rows;
  } finally {
    host.stop();
  }
}
