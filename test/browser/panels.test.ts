import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startBrowser, type TestBrowser, type TestPage } from "./browser.js";
import { delegate, say, subagent } from "./scripted-delegation.js";
import { type ScriptedHost, type ScriptedRun, startScriptedHost } from "./scripted-host.js";

const DIRECTORY = fileURLToPath(new URL("../../dist/console/", import.meta.url));
const FINISHED = { result: { summary: "It is drawn" }, sizes: { seen: 9_000, model: 100 } };

let browser: TestBrowser;
let host: ScriptedHost;
let runs: ScriptedRun[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  runs = [];
  host = await startScriptedHost({ directory: DIRECTORY, onRun: (run) => runs.push(run) });
  return () => host.close();
});

async function begin(opened: TestPage, text = "Hello"): Promise<ScriptedRun> {
  const before = runs.length;
  await opened.send(text);
  await expect.poll(() => runs.length).toBe(before + 1);
  const run = runs.at(-1);
  if (!run) throw new Error("no run");
  return run;
}

function end(run: ScriptedRun): void {
  run.emit({ type: "RUN_FINISHED", threadId: run.threadId, runId: run.runId });
}

const second = { delegationId: "del-2", agentName: "Painter", parentToolCallId: undefined };
const artifact = { id: "a", name: "notes.md", mimeType: "text/markdown", uri: "", size: 9, sha256: "" };

/** The words of a lane for people who do not see it. */
function laneOf(opened: TestPage, delegationId = "del-1") {
  return opened.page.locator(`[data-lane="${delegationId}"]`);
}

describe("the timeline", () => {
  it("has a lane for each delegation, with its state, its bars and its marks, and none before there is one", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    say(run, "I ask.");
    await opened.page.getByText("I ask.").waitFor();
    expect(await opened.page.locator(".timeline").count()).toBe(0);
    delegate(run);
    subagent(run, "text.delta", { messageId: "s", delta: "On it" });
    subagent(run, "started", { ...second, objective: "Draw it" });
    await expect.poll(() => laneOf(opened).textContent()).toBe("Research Agent: Working");
    expect(await laneOf(opened).locator(".bar.working").count()).toBe(1);
    subagent(run, "input_required", { prompt: "Which?" });
    subagent(run, "artifact", { artifact });
    await expect
      .poll(() => laneOf(opened).textContent())
      .toBe("Research Agent: Needs you, asked once, 1 file");
    expect(await laneOf(opened).locator(".mark.input, .mark.artifact").count()).toBe(2);
    await opened.page.getByText("1 needs you, 1 starting").waitFor();
    subagent(run, "finished", FINISHED);
    await expect.poll(() => laneOf(opened).textContent()).toMatch(/^Research Agent: Done, after \d+:\d\d/);
    expect(await laneOf(opened).locator(".bar.needs_you").count()).toBe(1);
    expect(opened.complaints).toEqual([]);
  });

  it("goes to a card from its lane by keyboard, and shows in the lane which card is looked at", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    subagent(run, "started", { ...second, objective: "Draw it" });
    for (let line = 0; line < 50; line++) say(run, `Line ${line}.`);
    await opened.page.getByText("Line 49.").waitFor();
    await laneOf(opened).focus();
    await opened.page.keyboard.press("ArrowDown");
    expect(await opened.page.evaluate(() => document.activeElement?.getAttribute("data-lane"))).toBe("del-2");
    await opened.page.keyboard.press("ArrowUp");
    await opened.page.keyboard.press("Enter");
    const toggle = opened.card("Research Agent").locator(".subagent-toggle");
    await expect.poll(() => toggle.evaluate((element) => element === document.activeElement)).toBe(true);
    await expect
      .poll(() => toggle.evaluate((element) => element.getBoundingClientRect().top))
      .toBeGreaterThan(0);
    await opened.page.locator("li.lane.highlighted [data-lane='del-1']").waitFor();
    await opened.card("Painter").locator(".subagent-toggle").focus();
    await opened.page.locator("li.lane.highlighted [data-lane='del-2']").waitFor();
    expect(await opened.page.locator("li.lane.highlighted").count()).toBe(1);
  });

  it("leaves the focus with what the person goes to while a card is still brought into view", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    subagent(run, "started", { ...second, objective: "Draw it" });
    await opened.card("Painter").waitFor();
    await laneOf(opened).focus();
    const kept = opened.page.evaluate(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const toggle = (id: string) =>
        document.querySelector<HTMLElement>(`[data-delegation="${id}"] .subagent-toggle`);
      while (document.activeElement !== toggle("del-1")) await frame();
      toggle("del-2")?.focus();
      for (let frames = 0; frames < 5; frames++) await frame();
      return document.activeElement === toggle("del-2");
    });
    await opened.page.keyboard.press("Enter");
    expect(await kept).toBe(true);
    await opened.page.locator("li.lane.highlighted [data-lane='del-2']").waitFor();
  });

  it("is folded as it was left, and steps through the runs of the thread", async () => {
    await using opened = await browser.open(host.url);
    const first = await begin(opened);
    delegate(first);
    subagent(first, "finished", FINISHED);
    end(first);
    await opened.runIs("Done");
    const next = await begin(opened, "Again");
    subagent(next, "started", { ...second, objective: "Draw it" });
    await laneOf(opened, "del-2").waitFor();
    await opened.page.getByText("Run 2 of 2").waitFor();
    await opened.page.getByRole("button", { name: "Earlier run" }).click();
    await laneOf(opened, "del-1").waitFor();
    expect(await opened.page.getByRole("button", { name: "Earlier run" }).isDisabled()).toBe(true);
    const toggle = opened.page.getByRole("button", { name: "Timeline" });
    await toggle.click();
    expect(await toggle.getAttribute("aria-expanded")).toBe("false");
    await opened.page.reload();
    await opened.page.getByText("1 starting").waitFor();
    expect(await opened.page.locator(".lane").count()).toBe(0);
  });
});

describe("the inspector", () => {
  it("tells everything about a delegation: names, audit, history with cursors, raw events, and its JSON", async () => {
    await using opened = await browser.open(host.url);
    await opened.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const run = await begin(opened);
    delegate(run);
    subagent(run, "text.delta", { messageId: "s", delta: "On it", remoteTaskId: "task-7" });
    await opened.card().getByText("On it").waitFor();
    await opened.card().locator(".subagent-toggle").focus();
    await opened.page.keyboard.press("i");
    const drawer = opened.page.getByRole("dialog", { name: "Research Agent" });
    await drawer.getByText("task-7").waitFor();
    await drawer.getByText("strong: the call named itself").waitFor();
    await drawer.getByRole("heading", { name: "Audit" }).waitFor();
    subagent(run, "status", { status: "working", message: "Reading" });
    await opened.page.keyboard.press("Tab");
    const rows = drawer.locator(".history tbody tr");
    await expect.poll(() => rows.count()).toBeGreaterThan(0);
    expect(await rows.first().textContent()).toContain("5");
    expect(await rows.first().textContent()).toContain("started");
    await drawer.getByRole("button", { name: "Read raw events" }).click();
    await expect.poll(() => drawer.locator(".json pre").textContent()).toContain('"delta":"On it"');
    await drawer.getByRole("button", { name: "Copy as JSON" }).click();
    await drawer.getByText("Copied").waitFor();
    const copied = await opened.page.evaluate(() => navigator.clipboard.readText());
    expect(JSON.parse(copied)).toMatchObject({ delegationId: "del-1" });
    expect(opened.complaints).toEqual([]);
  });

  it("keeps the focus, and gives it back at Escape, which stops nothing", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    const button = opened.page.getByRole("button", { name: "Inspect Research Agent" });
    await button.click();
    const drawer = opened.page.getByRole("dialog");
    await drawer.getByRole("button", { name: "Read raw events" }).waitFor();
    for (let step = 0; step < 8; step++) {
      await opened.page.keyboard.press("Tab");
      const inside = await drawer.evaluate((element) => element.contains(document.activeElement));
      const onPage = await opened.page.evaluate(() => document.activeElement !== document.body);
      expect(inside || !onPage).toBe(true);
    }
    await opened.page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await opened.page.keyboard.press("Escape");
    await opened.page.getByRole("button", { name: "Esc again stops" }).waitFor();
    expect(run.cancelled.aborted).toBe(false);
  });

  it("says what to do about an error, and that the host has no record when it has none", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    const error = { code: "remote_timeout", message: "Its time was up.", remoteStatus: "TASK_STATE_WORKING" };
    subagent(run, "failed", { ...FINISHED, error });
    await opened.cardIs("Failed");
    await opened.page.route("**/delegations/*", (route) => route.fulfill({ status: 404, json: {} }));
    await opened.page.getByRole("button", { name: "Inspect Research Agent" }).click();
    const drawer = opened.page.getByRole("dialog");
    await drawer.getByText("Ask for less, or give it more time.").waitFor();
    await drawer.getByText("TASK_STATE_WORKING").waitFor();
    await drawer.getByText("The host no longer has a record of it.").waitFor();
  });
});

describe("the list of threads", () => {
  const wide = { viewport: { width: 1_200, height: 800 } };

  it("names threads by their first message, from this browser and from the host, and goes to them", async () => {
    host.fill("elsewhere", [
      {
        type: "RUN_STARTED",
        runId: "r",
        input: { messages: [{ id: "u", role: "user", content: "Of another page" }] },
      },
      { type: "RUN_FINISHED", runId: "r" },
    ]);
    await using opened = await browser.open(host.url, wide);
    const list = opened.page.getByRole("navigation", { name: "Threads" });
    await list.getByRole("link", { name: "Of another page" }).waitFor();
    const run = await begin(opened, "My own question");
    const mine = list.getByRole("link", { name: "My own question" });
    await mine.waitFor();
    expect(await mine.getAttribute("aria-current")).toBe("page");
    await expect.poll(() => mine.textContent()).toContain("Working");
    end(run);
    await expect.poll(() => mine.textContent()).toContain("Done");
    await list.getByRole("link", { name: "Of another page" }).click();
    await opened.page.locator(".user-message", { hasText: "Of another page" }).waitFor();
    expect(new URL(opened.page.url()).hash).toBe("#thread=elsewhere");
    await mine.click();
    await opened.page.locator(".user-message", { hasText: "My own question" }).waitFor();
    expect(await opened.page.locator(".user-message").count()).toBe(1);
    expect(opened.complaints).toEqual([]);
  });

  it("is there without the host's list, and says what goes on after its run", async () => {
    const thread = (threadId: string, detached: number) => ({
      threadId,
      title: `Thread ${threadId}`,
      run: { runId: "r", agent: "claude", status: "finished", startedAt: 1 },
      runs: 1,
      detached,
    });
    await using opened = await browser.open(host.url, wide);
    await opened.page.route("**/threads", (route) => route.fulfill({ json: { threads: [thread("x", 2)] } }));
    await opened.page.reload();
    await opened.page.getByRole("link", { name: "Thread x" }).getByText("2 go on").waitFor();
    await opened.page.route("**/threads", (route) => route.fulfill({ status: 404, json: {} }));
    await begin(opened, "My own question");
    await opened.page.reload();
    await opened.page.getByRole("navigation").getByRole("link", { name: "My own question" }).waitFor();
  });

  it("is a drawer on a phone, which a choice and Escape close", async () => {
    host.fill("elsewhere", [
      {
        type: "RUN_STARTED",
        runId: "r",
        input: { messages: [{ id: "u", role: "user", content: "Of another page" }] },
      },
    ]);
    await using opened = await browser.open(host.url, { viewport: { width: 320, height: 640 } });
    const button = opened.page.getByRole("button", { name: "Threads" });
    await button.click();
    const drawer = opened.page.getByRole("dialog", { name: "Threads" });
    await drawer.getByRole("link", { name: "Of another page" }).waitFor();
    await opened.page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await button.click();
    await drawer.getByRole("link", { name: "Of another page" }).click();
    await opened.page.locator(".user-message", { hasText: "Of another page" }).waitFor();
    await drawer.waitFor({ state: "detached" });
  });

  it("shows on its card that a delegation goes on after its run", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    subagent(run, "detached");
    end(run);
    await opened.card().getByText("goes on after its run").waitFor();
    subagent(run, "finished", FINISHED);
    await opened.card().getByText("goes on after its run").waitFor({ state: "detached" });
  });
});

describe("the search", () => {
  it("goes from match to match, and unfolds what they are in", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    subagent(run, "text.start", { messageId: "s" });
    subagent(run, "text.delta", { messageId: "s", delta: "A heron stands here." });
    subagent(run, "text.end", { messageId: "s" });
    subagent(run, "finished", FINISHED);
    for (let line = 0; line < 200; line++) say(run, `Line ${line}.`);
    say(run, "The Heron is gone.");
    await opened.page.getByText("The Heron is gone.").waitFor();
    expect(await opened.page.getByText("Line 5.", { exact: true }).count()).toBe(0);
    await opened.page.locator("h1").click();
    await opened.page.keyboard.press("/");
    await opened.page.keyboard.type("heron");
    await opened.page.getByText("2 matches").waitFor();
    await opened.page.keyboard.press("Enter");
    await opened.page.getByText("1 of 2").waitFor();
    const found = opened.card().locator(".is-target", { hasText: "A heron stands here." });
    await found.waitFor();
    await expect.poll(() => opened.page.evaluate(() => CSS.highlights.get("search")?.size)).toBe(2);
    await opened.page.keyboard.press("Enter");
    await opened.page.locator(".is-target", { hasText: "The Heron is gone." }).waitFor();
    await opened.page.keyboard.press("Shift+Enter");
    await found.waitFor();
    await opened.page.getByLabel("Search this thread").fill("no such word");
    await opened.page.getByText("No match").waitFor();
    await opened.page.keyboard.press("Escape");
    await opened.page.locator("search").waitFor({ state: "detached" });
    expect(run.cancelled.aborted).toBe(false);
    expect(await opened.page.evaluate(() => CSS.highlights.has("search"))).toBe(false);
    expect(opened.complaints).toEqual([]);
  });

  it("opens the tool call that has the words in its result", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    run.emit({ type: "TOOL_CALL_START", toolCallId: "t", toolCallName: "Read" });
    run.emit({ type: "TOOL_CALL_END", toolCallId: "t" });
    run.emit({ type: "TOOL_CALL_RESULT", toolCallId: "t", messageId: "m", content: "a needle in it" });
    await opened.page.getByRole("button", { name: "Search", exact: true }).click();
    await opened.page.keyboard.type("needle");
    await opened.page.getByText("1 match").waitFor();
    await opened.page.getByRole("button", { name: "Next match" }).click();
    await opened.page.locator(".tool-details pre", { hasText: "a needle in it" }).waitFor();
  });
});

describe("the replay", () => {
  it("plays a run that is over, from any moment, with nothing to press that would change it", async () => {
    const told = (change: string, timestamp: number, value: object = {}) => ({
      type: "CUSTOM",
      name: `subagent.${change}`,
      timestamp,
      value: { runId: "r", delegationId: "del-1", agentName: "Research Agent", protocol: "a2a", ...value },
    });
    const messages = [{ id: "u", role: "user", content: "Long ago" }];
    host.fill("old", [
      {
        type: "RUN_STARTED",
        runId: "q",
        timestamp: 1,
        input: { messages: [{ ...messages[0], content: "Earlier" }] },
      },
      { type: "RUN_FINISHED", runId: "q", timestamp: 2 },
      { type: "RUN_STARTED", runId: "r", timestamp: 1_000_000, input: { messages } },
      told("started", 1_001_000, { objective: "Find it" }),
      told("text.delta", 1_002_000, { messageId: "s", delta: "half of it" }),
      told("text.delta", 1_600_000, { messageId: "s", delta: ", and the rest" }),
      told("finished", 1_900_000, FINISHED),
      { type: "RUN_FINISHED", runId: "r", timestamp: 2_000_000 },
    ]);
    await using opened = await browser.open(`${host.url}#thread=old`);
    const { page } = opened;
    await opened.cardIs("Done");
    await page.getByRole("button", { name: "Replay" }).last().click();
    const replay = page.getByRole("region", { name: "Replay" });
    await replay.getByRole("button", { name: "Pause" }).click();
    expect(await page.locator(".user-message").allTextContents()).toEqual(["Long ago"]);
    await replay.getByLabel("Moment").fill("10000");
    await opened.cardIs("Working");
    await opened.card().getByText("half of it", { exact: true }).waitFor();
    expect(await opened.card().locator(".elapsed").textContent()).toBe("0:09");
    expect(await page.getByRole("button", { name: /^Stop/ }).count()).toBe(0);
    expect(await page.getByLabel("Message").count()).toBe(0);
    await replay.getByLabel("Moment").fill("700000");
    await opened.card().getByText("half of it, and the rest", { exact: true }).waitFor();
    await replay.getByLabel("Moment").fill("1500");
    await opened.cardIs("Starting");
    await replay.getByLabel("Speed").selectOption("16×");
    await replay.getByRole("button", { name: "Play", exact: true }).click();
    await opened.card().getByText("half of it", { exact: true }).waitFor();
    await replay.getByRole("button", { name: "End" }).click();
    await opened.cardIs("Done");
    await replay.getByRole("button", { name: "Play", exact: true }).waitFor();
    await replay.getByRole("button", { name: "Leave replay" }).click();
    await page.getByLabel("Message").waitFor();
    expect(await page.locator(".user-message").count()).toBe(2);
    expect(opened.complaints).toEqual([]);
  });
});

it("shows the end of a long list, and more when it is asked", async () => {
  await using opened = await browser.open(host.url);
  const run = await begin(opened);
  for (let line = 0; line < 500; line++) say(run, `Line ${line}.`);
  await opened.page.getByText("Line 499.").waitFor();
  expect(await opened.page.locator(".message").count()).toBeLessThan(150);
  const earlier = opened.page.getByRole("button", { name: "Show earlier" });
  for (let clicks = 0; clicks < 5 && (await earlier.count()) > 0; clicks++) await earlier.click();
  await opened.page.getByText("Line 0.", { exact: true }).waitFor({ state: "attached" });
  expect(await opened.page.locator(".message").count()).toBe(500);
});
