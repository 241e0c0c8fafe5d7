import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createThreadView } from "../../src/client/thread-view.js";
import { delegationsOf, type RunView } from "../../src/client/view.js";
import { startTestHost, type TestHost } from "../support/host.js";
import { startBrowser, type TestBrowser, type TestPage } from "./browser.js";

let browser: TestBrowser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
});

/** The last run of the page's thread as an independent reader sees it, once it is over. */
async function lastRun(host: TestHost, opened: TestPage): Promise<RunView> {
  const threadId = new URLSearchParams(new URL(opened.page.url()).hash.slice(1)).get("thread") ?? "";
  const reducer = createThreadView();
  for await (const frame of createClient({ baseUrl: host.url }).streamThread(threadId)) {
    reducer.apply(frame);
    const run = reducer.view.runs.at(-1);
    if (run && run.status !== "running") return run;
  }
  throw new Error("the stream ended");
}

async function lastDelegation(host: TestHost, opened: TestPage) {
  const [delegation] = delegationsOf(await lastRun(host, opened));
  if (!delegation) throw new Error("there was no delegation");
  return delegation;
}

/** A delegation that streams in two halves, with time between them. */
const HALVES = "#status Searching sources\n#chunks 6\n#delay 1500\n#chunks 6\n#artifact notes.md 2000";

describe("the console on a real host", () => {
  it("shows a remote agent at work under the call, before the call has its result, and what crossed the boundary", async () => {
    await using host = await startTestHost();
    await using opened = await browser.open(host.url);
    await opened.page.locator("main .agent-list", { hasText: "ready" }).waitFor();
    await opened.send(HALVES);
    const call = opened.page.locator(".tool-call", { hasText: "delegate_to_agent" });
    await call.locator("article .state", { hasText: "Working" }).waitFor();
    await opened.card().locator(".latest").waitFor();
    await opened.card().getByText("Searching sources", { exact: true }).waitFor();
    expect(await call.locator(".tool-line.done").count()).toBe(0);
    await opened.cardIs("Done");
    await opened.runIs("Done");
    await opened.page.getByText("The research agent answered").waitFor();

    const { result, sizes } = await lastDelegation(host, opened);
    expect(sizes?.model).toBe(new TextEncoder().encode(JSON.stringify(result)).length);
    await opened.card().getByText("Show the JSON").click();
    const shown = await opened.card().locator(".boundary pre").textContent();
    expect(JSON.parse(shown ?? "")).toEqual(result);

    const downloading = opened.page.waitForEvent("download");
    await opened.card().getByRole("link", { name: "notes.md" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("notes.md");
    expect((await readFile(await download.path())).length).toBe(2_000);
    expect(opened.complaints).toEqual([]);
  });

  it("asks what a remote wants to know, in a form, and the remote goes on with the answer", async () => {
    await using host = await startTestHost();
    await using opened = await browser.open(host.url);
    await opened.send("#input Which year?");
    await opened.cardIs("Needs you");
    await opened.card().locator(".asks", { hasText: "Which year?" }).waitFor();
    await opened.card().getByLabel("Your answer").fill("1984");
    await opened.page.keyboard.press("Enter");
    await opened.cardIs("Done");
    await opened.runIs("Done");
    await opened.page.getByText("You answered: 1984").first().waitFor();
    const { result } = await lastDelegation(host, opened);
    expect(result).toMatchObject({ status: "completed", summary: "You answered: 1984" });
    expect(opened.complaints).toEqual([]);
  });

  it("loses and doubles nothing when it is reloaded in mid-delegation", async () => {
    await using host = await startTestHost();
    await using opened = await browser.open(host.url);
    await opened.send(HALVES);
    await opened.card().locator(".latest").waitFor();
    await opened.page.reload();
    await opened.cardIs("Working");
    await opened.runIs("Done");
    expect(await opened.page.locator(".user-message").count()).toBe(1);
    expect(await opened.page.locator("article").count()).toBe(1);
    await opened.card().locator(".subagent-toggle").click();
    const { items } = await lastDelegation(host, opened);
    const said = items.map((item) => (item.kind === "text" ? item.text : "")).join("");
    const squeeze = (text: string) => text.replace(/\s+/g, "");
    expect(squeeze((await opened.card().locator(".prose").allTextContents()).join(""))).toBe(squeeze(said));
    expect(opened.complaints).toEqual([]);
  });

  it("tells in the list, the timeline, the inspector and a replay what the host has on record", async () => {
    await using host = await startTestHost();
    await using opened = await browser.open(host.url, { viewport: { width: 1_200, height: 800 } });
    const { page } = opened;
    await opened.send(HALVES);
    const entry = page.getByRole("navigation", { name: "Threads" }).getByRole("link", { name: "#status" });
    await expect.poll(() => entry.textContent()).toContain("Working");
    await opened.runIs("Done");
    await expect.poll(() => entry.textContent()).toContain("Done");
    const delegation = await lastDelegation(host, opened);
    const lane = page.locator(`[data-lane="${delegation.delegationId}"]`);
    expect(await lane.textContent()).toMatch(/Research Agent: Done, after \d+:\d\d, 1 file/);
    await lane.click();
    await expect.poll(() => page.locator(".is-target .agent-name").textContent()).toBe("Research Agent");
    await page.keyboard.press("i");
    const drawer = page.getByRole("dialog", { name: "Research Agent" });
    await drawer.getByText(delegation.remoteTaskId ?? "none", { exact: true }).waitFor();
    await drawer.getByText(delegation.cardFingerprint ?? "none", { exact: true }).waitFor();
    await expect.poll(() => drawer.locator(".history tbody tr").last().textContent()).toContain("finished");
    await drawer.getByText("sha256").waitFor();
    await drawer.getByRole("button", { name: "Read raw events" }).click();
    await expect.poll(() => drawer.locator(".json pre").first().textContent()).toContain("subagent.finished");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Replay" }).click();
    const replay = page.getByRole("region", { name: "Replay" });
    await replay.getByRole("button", { name: "Pause" }).click();
    await replay.getByLabel("Moment").fill("0");
    await expect.poll(() => page.locator("article").count()).toBe(0);
    await replay.getByRole("button", { name: "End" }).click();
    await opened.cardIs("Done");
    await opened.page.getByText("The research agent answered").waitFor();
    expect(opened.complaints).toEqual([]);
  });

  it("stops one delegation, and the parent goes on", async () => {
    await using host = await startTestHost();
    await using opened = await browser.open(host.url);
    await opened.send("#say I am on it\n#hang");
    await opened.card().getByText("I am on it", { exact: true }).waitFor();
    await opened.page.getByRole("button", { name: "Stop Research Agent" }).click();
    await opened.cardIs("Stopped");
    await opened.page.getByText("The research agent could not finish").waitFor();
    await opened.runIs("Done");
    expect((await host.remote.seen()).map(({ method }) => method)).toContain("CancelTask");
  });

  it("stops the run with everything in it", async () => {
    await using host = await startTestHost();
    await using opened = await browser.open(host.url);
    await opened.send("#say I am on it\n#hang");
    await opened.card().getByText("I am on it", { exact: true }).waitFor();
    await opened.page.keyboard.press("Escape");
    await opened.page.keyboard.press("Escape");
    await opened.runIs("Stopped by you");
    await opened.cardIs("Stopped");
    await opened.page.getByRole("button", { name: "Send" }).waitFor();
  });

  it("shows a remote's failure in its words, and the parent's answer to it", async () => {
    await using host = await startTestHost();
    await using opened = await browser.open(host.url);
    await opened.send("#say half of it\n#fail The index is broken");
    await opened.cardIs("Failed");
    await opened.card().getByText("The index is broken").waitFor();
    await opened.runIs("Done");
  });

  it("lets a person decide what the local agent may do", async () => {
    const script = {
      turns: [
        [
          { permission: { tool: "Bash", input: { command: "ls" }, result: "README.md" } },
          { say: "It said {{result.0}}." },
        ],
      ],
    };
    await using host = await startTestHost({ script });
    await using opened = await browser.open(host.url);
    await opened.send("Look around");
    await opened.page.getByRole("heading", { name: "May it do this?" }).waitFor();
    expect(await opened.page.title()).toContain("Needs you");
    await opened.page.keyboard.press("Alt+KeyY");
    await opened.page.getByText("Approved by you").waitFor();
    await opened.page.getByText("It said").waitFor();
    await opened.runIs("Done");
  });
});
