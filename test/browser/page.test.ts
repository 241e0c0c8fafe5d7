import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startBrowser, type TestBrowser, type TestPage } from "./browser.js";
import { delegate, say, subagent } from "./scripted-delegation.js";
import { type ScriptedHost, type ScriptedRun, startScriptedHost } from "./scripted-host.js";

const DIRECTORY = fileURLToPath(new URL("../../dist/console/", import.meta.url));

let browser: TestBrowser;
let host: ScriptedHost;
let runs: ScriptedRun[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  host = await startScriptedHost({ directory: DIRECTORY, onRun: (run) => runs.push(run) });
});
afterAll(async () => {
  await host?.close();
  await browser?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  runs = [];
  host.requests.length = 0;
  host.setAvailable(true);
});

async function begin(opened: TestPage, text = "Hello"): Promise<ScriptedRun> {
  await opened.send(text);
  await expect.poll(() => runs.length).toBe(1);
  const [run] = runs;
  if (!run) throw new Error("no run");
  return run;
}

const approval = (expiresInMs = 60_000) => ({
  approvalId: "app-1",
  kind: "permission",
  tool: "Bash",
  title: "Run the tests",
  input: { command: "npm test" },
  expiresAt: Date.now() + expiresInMs,
});

describe("the console", () => {
  it("tells a newcomer what to do, and does it with one click", async () => {
    await using opened = await browser.open(host.url);
    await opened.page.locator("main .agent-list", { hasText: "Research Agent" }).waitFor();
    await opened.page.locator(".suggestion").click();
    await expect.poll(() => runs.length).toBe(1);
    expect(runs[0]?.text).toContain("research");
    await opened.page.locator(".user-message", { hasText: "research" }).waitFor();
    expect(new URL(opened.page.url()).hash).toBe(`#thread=${runs[0]?.threadId}`);
    expect(opened.complaints).toEqual([]);
  });

  it("goes on after a broken connection, with nothing lost or doubled, and says so meanwhile", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    subagent(run, "text.delta", { messageId: "s", delta: "one two " });
    await opened.card().getByText("one two").waitFor();
    host.setAvailable(false);
    host.dropStreams();
    const connection = opened.page.locator(".connection");
    await connection.getByText("Reconnecting").waitFor();
    expect(await connection.textContent()).toMatch(/from event \d+, attempt \d+/);
    subagent(run, "text.delta", { messageId: "s", delta: "three" });
    host.setAvailable(true);
    await opened.card().getByText("one two three", { exact: true }).waitFor();
    await connection.getByText("Live").waitFor();
    const resumed = host.requests.filter(({ path }) => path.endsWith("/events")).at(-1);
    expect(resumed?.lastEventId).toBe("6");
  });

  it("rejoins after a reload in mid-run", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened, "What is new?");
    say(run, "Let me ask.");
    delegate(run);
    subagent(run, "text.delta", { messageId: "s", delta: "half of it" });
    await opened.card().getByText("half of it").waitFor();
    const before = await opened.conversation();
    await opened.page.reload();
    await opened.card().getByText("half of it").waitFor();
    expect(await opened.conversation()).toBe(before);
    subagent(run, "text.delta", { messageId: "s", delta: ", and the rest" });
    await opened.card().getByText("half of it, and the rest", { exact: true }).waitFor();
    expect(host.requests.filter(({ path }) => path.endsWith("/run"))).toHaveLength(1);
    expect(opened.complaints).toEqual([]);
  });

  it("keeps messages and runs of one thread in order, and starts a new thread", async () => {
    await using opened = await browser.open(host.url);
    const first = await begin(opened, "First");
    say(first, "Answer one");
    first.emit({
      type: "RUN_FINISHED",
      threadId: first.threadId,
      runId: first.runId,
      result: { status: "finished" },
    });
    await opened.runIs("Done");
    await opened.send("Second");
    await expect.poll(() => runs.length).toBe(2);
    expect(runs[1]?.threadId).toBe(first.threadId);
    await opened.page.locator(".user-message", { hasText: "Second" }).waitFor();
    expect(await opened.conversation()).toMatch(/First.*Answer one.*Done.*Second/);
    await opened.page.getByRole("button", { name: "New thread" }).click();
    await opened.page.locator(".suggestion").waitFor();
    expect(new URL(opened.page.url()).hash).toBe("");
    await opened.page.goBack();
    await opened.page.getByText("Answer one").waitFor();
  });

  it("answers an approval by keyboard, and its title says that it waits", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    run.custom("approval.requested", approval());
    await opened.page.getByRole("heading", { name: "May it do this?" }).waitFor();
    await expect.poll(() => opened.page.title()).toContain("Needs you");
    await opened.page.keyboard.press("Alt+KeyY");
    await expect
      .poll(() => host.requests.find(({ path }) => path === "/approvals/app-1")?.body)
      .toEqual({ decision: "approve" });
    run.custom("approval.resolved", { approvalId: "app-1", decision: "approve", by: "person" });
    await opened.page.getByText("Approved by you").waitFor();
    await expect.poll(() => opened.page.title()).not.toContain("Needs you");
  });

  it("answers a question by a form made from its schema", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    const properties = {
      where: { title: "Where", enum: ["staging", "live"] },
      count: { type: "integer" },
      dry: { type: "boolean" },
    };
    run.custom("approval.requested", {
      ...approval(),
      kind: "question",
      schema: { type: "object", required: ["where"], properties },
    });
    await opened.page.getByLabel("Where").selectOption("staging");
    await opened.page.getByLabel("count").fill("3");
    await opened.page.getByLabel("dry").check();
    await opened.page.getByRole("button", { name: "Answer", exact: true }).click();
    await expect
      .poll(() => host.requests.find(({ path }) => path === "/approvals/app-1")?.body)
      .toEqual({ decision: "approve", input: { where: "staging", count: 3, dry: true } });
  });

  it("stops a delegation at once, and the run only after Escape was pressed twice", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    delegate(run);
    await opened.page.getByRole("button", { name: "Stop Research Agent" }).click();
    await opened.cardIs("Stopping");
    await expect
      .poll(() => host.requests.some(({ path }) => path === "/delegations/del-1/cancel"))
      .toBe(true);
    await opened.page.keyboard.press("Escape");
    await opened.page.getByRole("button", { name: "Esc again stops" }).waitFor();
    expect(run.cancelled.aborted).toBe(false);
    await opened.page.keyboard.press("Escape");
    await expect.poll(() => run.cancelled.aborted).toBe(true);
    await opened.page.getByRole("button", { name: "Stopping…" }).waitFor();
  });

  it("shows an agent's text without HTML, and loads nothing that it names", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    say(
      run,
      `<img src="${host.url}html.png">![pixel](${host.url}pixel.png) [good](https://example.com/a) [bad](javascript:alert(1))`,
    );
    const link = opened.page.getByRole("link", { name: "good" });
    await link.waitFor();
    expect(await link.getAttribute("target")).toBe("_blank");
    expect(await link.getAttribute("rel")).toContain("noopener");
    expect(await opened.page.locator("main img").count()).toBe(0);
    expect(await opened.page.getByRole("link", { name: "bad" }).count()).toBe(0);
    expect(opened.requests.filter((url) => url.endsWith(".png"))).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  it("announces changes of state, and never the words that stream in", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    const status = opened.page.getByRole("status");
    delegate(run);
    await expect.poll(() => status.textContent()).toContain("Research Agent: Starting");
    subagent(run, "text.delta", { messageId: "s", delta: "alpha" });
    await expect.poll(() => status.textContent()).toContain("Research Agent: Working");
    subagent(run, "text.delta", { messageId: "s", delta: " beta" });
    await opened.card().getByText("alpha beta").waitFor();
    expect(await status.textContent()).toBe("Research Agent: Working");
  });

  it.each([
    ["light", { colorScheme: "light" as const }],
    ["dark", { colorScheme: "dark" as const }],
  ])("fits a width of 320 pixels in %s", async (_, scheme) => {
    await using opened = await browser.open(host.url, { viewport: { width: 320, height: 640 }, ...scheme });
    const run = await begin(opened, "x".repeat(200));
    delegate(run);
    subagent(run, "text.delta", {
      messageId: "s",
      delta: `${"y".repeat(300)}\n\n\`\`\`\n${"z".repeat(300)}\n\`\`\`\n`,
    });
    const name = `${"long-".repeat(30)}name.md`;
    subagent(run, "artifact", {
      artifact: { id: "a", name, mimeType: "text/markdown", uri: "", size: 1_234, sha256: "" },
    });
    run.custom("approval.requested", { ...approval(), input: { command: "w".repeat(300) } });
    await opened.page.getByRole("heading", { name: "May it do this?" }).waitFor();
    const widest = await opened.page.evaluate(() => {
      const inScroller = (element: Element) => element.closest("pre") !== null && element.tagName !== "PRE";
      const visible = [...document.querySelectorAll("main *, header *, footer *, .timeline *")].filter(
        (element) => !inScroller(element),
      );
      return Math.max(...visible.map((element) => element.getBoundingClientRect().right));
    });
    expect(widest).toBeLessThanOrEqual(320);
    expect(opened.complaints).toEqual([]);
  });

  it("leaves a reader who scrolled up where they are", async () => {
    await using opened = await browser.open(host.url);
    const run = await begin(opened);
    for (let line = 0; line < 80; line++) say(run, `Line ${line}.`);
    await opened.page.getByText("Line 79.").waitFor();
    const main = opened.page.locator("main");
    await expect
      .poll(() => main.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight))
      .toBeLessThan(2);
    await main.evaluate((element) => {
      element.scrollTop = 100;
    });
    await opened.page.getByRole("button", { name: "Latest" }).waitFor();
    say(run, "One more.");
    await opened.page.getByText("One more.").waitFor({ state: "attached" });
    expect(await main.evaluate((element) => element.scrollTop)).toBe(100);
    await opened.page.getByRole("button", { name: "Latest" }).click();
    await expect
      .poll(() => main.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight))
      .toBeLessThan(2);
  });

  it("keeps what a person unfolds in view, also at the end of the page", async () => {
    await using opened = await browser.open(host.url, { viewport: { width: 960, height: 500 } });
    const run = await begin(opened);
    for (let line = 0; line < 10; line++) say(run, `Line ${line}.`);
    delegate(run);
    const result = { lines: Array.from({ length: 30 }, (_, index) => index) };
    subagent(run, "finished", { result, sizes: { seen: 9_000, model: 100 } });
    await opened.card().getByText("Show the JSON").click();
    await opened.card().locator(".boundary pre").waitFor();
    await opened.page.getByRole("button", { name: "Latest" }).waitFor();
    const line = opened.card().locator(".boundary summary");
    expect(await line.evaluate((element) => element.getBoundingClientRect().top)).toBeGreaterThan(0);
  });

  it("keeps a message that could not be sent, with a way to try again", async () => {
    await using opened = await browser.open(host.url);
    await opened.page.locator(".suggestion").waitFor();
    await opened.page.route("**/run?*", (route) =>
      route.fulfill({
        status: 409,
        json: { error: { code: "thread_busy", message: "This thread is busy." } },
      }),
    );
    await opened.send("Hello");
    await opened.page.getByText("This thread is busy.").waitFor();
    await opened.page.unroute("**/run?*");
    await opened.page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => runs[0]?.text).toBe("Hello");
  });
});
