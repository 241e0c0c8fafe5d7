import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { reportLines } from "../../src/cli/check/report.js";
import { warnOfUnreachable } from "../../src/cli/serving.js";
import { PlainPrinter } from "../../src/cli/tree/plain-printer.js";
import { clean, flat, oneLine, renderEnd, renderRun } from "../../src/cli/tree/render.js";
import type { RunView } from "../../src/client/view.js";
import { logText } from "../../src/core/log-text.js";
import { errorResponse } from "../../src/host/http-error.js";

/** Moves the cursor, sets the title, reads the clipboard, begins a line of its own, turns the text around. */
const ATTACK = "\u001b[2J\u001b]0;title\u0007\u009b31m\r\u001b]52;c;?\u0007\u202e\u2028\nFORGED";
/** Nothing but our own colours may be left. */
const OWN_COLOURS = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");
const DANGEROUS = /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

const harmless = (lines: readonly string[]) => {
  expect(lines.join("\n")).toContain("FORGED");
  for (const line of lines) {
    const text = line.replace(OWN_COLOURS, "");
    expect(text).not.toMatch(DANGEROUS);
    expect(text).not.toContain("\n");
    // It stands behind what it belongs to, and never begins a line as if it were ours.
    expect(text).not.toMatch(/^FORGED/);
  }
};

const tool = (input: object, state: string) => ({
  kind: "tool",
  id: "t",
  name: `tool ${ATTACK}`,
  arguments: JSON.stringify(input),
  state,
  items: [],
  subagents: [],
});

const subagent = (over: object) => ({
  kind: "subagent",
  delegationId: "d",
  agentKey: ATTACK,
  agentName: ATTACK,
  protocol: "a2a",
  state: "working",
  startedAt: 0,
  statusMessage: `status ${ATTACK}`,
  items: [tool({ query: ATTACK }, "done")],
  artifacts: [{ id: "a", name: `name ${ATTACK}`, mimeType: "text/plain", size: 1, uri: "", sha256: "" }],
  subagents: [],
  ...over,
});

const run = (over: object = {}): RunView =>
  ({
    runId: "r",
    status: "running",
    startedAt: 0,
    items: [tool({ objective: ATTACK }, "running")],
    subagents: [
      subagent({}),
      subagent({ state: "failed", error: { code: "x", message: `error ${ATTACK}` } }),
    ],
    notices: [{ message: `notice ${ATTACK}` }],
    approvals: [],
    ...over,
  }) as unknown as RunView;

describe("what a remote calls itself, its tools, files, states and errors", () => {
  const options = { width: 400, now: 0, textLines: 4 };

  it("stands in the tree of watch and replay as text, on the line it belongs to", () => {
    harmless(renderRun(run(), options));
    const failed = run({ status: "failed", endedAt: 1, error: { message: `error ${ATTACK}` } });
    for (const line of renderEnd(failed, 400)) expect(line.replace(OWN_COLOURS, "")).not.toMatch(DANGEROUS);
  });

  it("of a line or a name no escape sequence is left", () => {
    for (const made of [clean(ATTACK), flat(ATTACK), oneLine(ATTACK, 80)])
      expect(made).not.toMatch(DANGEROUS);
    expect(flat(ATTACK)).not.toContain("\n");
    expect(oneLine(ATTACK, 80)).not.toContain("\n");
  });

  it("stands in the reports of check and serve in the same way", () => {
    const finding = {
      area: "sub-agents",
      state: "problem",
      subject: `s ${ATTACK}`,
      text: `t ${ATTACK}`,
      remedy: `r ${ATTACK}`,
    };
    const seen = { name: `n ${ATTACK}`, description: "d", bytes: 1, schemaBytes: 1 };
    const lines = reportLines(
      [finding] as unknown as Parameters<typeof reportLines>[0],
      [seen] as unknown as Parameters<typeof reportLines>[1],
    );
    for (const line of lines) expect(line.replace(OWN_COLOURS, "")).not.toMatch(DANGEROUS);
    const told: string[] = [];
    const log = vi.spyOn(console, "error").mockImplementation((line: string) => void told.push(line));
    warnOfUnreachable([{ key: "x", protocol: "a2a", status: "unreachable", problem: `p ${ATTACK}` }]);
    log.mockRestore();
    harmless(told);
  });
});

describe("lines that are only added", () => {
  const written: string[] = [];
  beforeEach(() => {
    written.length = 0;
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
  });
  afterEach(() => vi.restoreAllMocks());

  it("hold one event each, whatever is in it", () => {
    const printer = new PlainPrinter();
    const own = { delegationId: "d", agentKey: `key ${ATTACK}`, messageId: "m" };
    const events = [
      { type: "notice", message: `notice ${ATTACK}` },
      { type: "approval.requested", approval: { approvalId: "a", title: `title ${ATTACK}` } },
      { ...own, type: "subagent.started", objective: ATTACK },
      { ...own, type: "subagent.status", status: `state ${ATTACK}`, message: ATTACK },
      { ...own, type: "subagent.input_required", prompt: ATTACK },
      { ...own, type: "subagent.artifact", artifact: { name: `name ${ATTACK}`, size: 1 } },
    ];
    for (const event of events)
      printer.update(run(), { cursor: "1", runId: "r", time: 0, event } as unknown as Parameters<
        PlainPrinter["update"]
      >[1]);
    vi.restoreAllMocks();
    expect(written.length).toBe(events.length);
    harmless(written.map((line) => line.replace(/\n$/, "")));
  });
});

describe("the host's log", () => {
  const forged = `remote says ${ATTACK}`;

  it("holds an error with its stack, but none of its escape sequences, and no line that looks like another entry", () => {
    const text = logText(new Error(forged, { cause: new Error(forged) }));
    expect(text).toContain("Error: remote says");
    expect(text).toContain("terminal.test");
    expect(text).not.toMatch(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/u);
    for (const line of text.split("\n").slice(1)) expect(line).toMatch(/^ {2}/);
    expect(logText(forged)).not.toContain("\n");
  });

  it("is written so for what a route did not expect", () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const context = { json: (body: unknown) => Response.json(body) };
    errorResponse(context as unknown as Parameters<typeof errorResponse>[0], new Error(forged));
    const told = log.mock.calls.flat().join(" ");
    log.mockRestore();
    expect(told).toContain("remote says");
    expect(told).not.toMatch(/(?![\n\t])\p{Cc}/u);
    expect(told).not.toMatch(/^FORGED/m);
  });
});
