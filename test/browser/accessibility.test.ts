import { fileURLToPath } from "node:url";
import axe from "axe-core";
import type { Page } from "playwright-core";
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
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  runs = [];
  host = await startScriptedHost({ directory: DIRECTORY, onRun: (run) => runs.push(run) });
  return () => host.close();
});

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** What axe finds of more than little weight, as lines to read. */
async function complaintsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    // What is fading in has no contrast yet.
    await Promise.allSettled(
      document.getAnimations().map(({ finished, effect }) => {
        const endless = effect?.getTiming().iterations === Number.POSITIVE_INFINITY;
        return endless ? undefined : finished;
      }),
    );
    return (await axe.run()).violations;
  });
  return violations
    .filter(({ impact }) => impact !== "minor")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

async function fillThread(opened: TestPage): Promise<ScriptedRun> {
  await opened.send("Hello");
  await expect.poll(() => runs.length).toBe(1);
  const [run] = runs;
  if (!run) throw new Error("no run");
  say(run, "I ask **others**, see [here](https://example.com).\n\n```\ncode\n```");
  delegate(run);
  subagent(run, "text.delta", { messageId: "s", delta: "On it" });
  subagent(run, "artifact", {
    artifact: {
      id: "a",
      name: "a.md",
      mimeType: "text/markdown",
      uri: "",
      size: 9,
      sha256: "",
      preview: "A",
    },
  });
  const other = (index: number, agentName: string) => ({
    delegationId: `del-${index}`,
    agentName,
    parentToolCallId: undefined,
  });
  const over = { result: { summary: "Done" }, sizes: { seen: 9_000, model: 90 } };
  for (const [index, name] of ["", "", "Asker", "Failer", "Finisher", "Stopper", "Stopping"].entries())
    if (name) subagent(run, "started", { ...other(index, name), objective: "Try it" });
  subagent(run, "input_required", { ...other(2, "Asker"), prompt: "Which?" });
  const error = { code: "remote_failed", message: "It broke." };
  subagent(run, "failed", { ...other(3, "Failer"), ...over, error });
  subagent(run, "finished", { ...other(4, "Finisher"), ...over });
  subagent(run, "cancelled", { ...other(5, "Stopper"), ...over, reason: "user", confirmed: false });
  subagent(run, "status", { ...other(6, "Stopping"), status: "cancel_pending" });
  run.custom("notice", { level: "warning", code: "x", message: "Be careful" });
  run.custom("plan.updated", { steps: [{ text: "Plan it", status: "in_progress" }] });
  run.custom("approval.requested", {
    approvalId: "app-1",
    kind: "permission",
    tool: "Bash",
    title: "Run the tests",
    input: { command: "npm test" },
    expiresAt: Date.now() + 60_000,
  });
  await opened.page.getByRole("heading", { name: "May it do this?" }).waitFor();
  return run;
}

describe.each([
  ["light", 1_200],
  ["dark", 1_200],
  ["light", 320],
  ["dark", 320],
] as const)("in %s at %i pixels", (colorScheme, width) => {
  const options = { colorScheme, viewport: { width, height: 800 } };

  it("axe finds nothing on the empty page, in a thread with everything, its search, its inspector and its list", async () => {
    await using opened = await browser.open(host.url, options);
    const { page } = opened;
    await page.locator(".suggestion").waitFor();
    expect(await complaintsOf(page)).toEqual([]);
    await fillThread(opened);
    expect(await complaintsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.keyboard.type("ask");
    await page.keyboard.press("Enter");
    await page.locator(".is-target").waitFor();
    expect(await complaintsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Inspect Failer" }).click();
    await page.getByRole("dialog").locator(".history tbody tr").first().waitFor();
    expect(await complaintsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    if (width < 1_000) await page.getByRole("button", { name: "Threads" }).click();
    await page.getByRole("link", { name: "Hello" }).waitFor();
    expect(await complaintsOf(page)).toEqual([]);
  });
});

it("the keyboard reaches everything that can be pressed", async () => {
  await using opened = await browser.open(host.url, { viewport: { width: 1_200, height: 800 } });
  const { page } = opened;
  await fillThread(opened);
  await page.getByRole("link", { name: "Hello" }).waitFor();
  await page.evaluate(() => {
    const wanted = "a[href], button:not(:disabled), input:not(:disabled), textarea, select, summary";
    const shown = [...document.querySelectorAll<HTMLElement>(wanted)].filter((element) =>
      element.checkVisibility(),
    );
    Object.assign(window, { left: new Set(shown) });
    document.addEventListener("focusin", ({ target }) => {
      (window as unknown as { left: Set<unknown> }).left.delete(target);
    });
    (document.activeElement as HTMLElement | null)?.blur();
  });
  const left = () =>
    page.evaluate(() =>
      [...(window as unknown as { left: Set<HTMLElement> }).left].map((element) =>
        element.outerHTML.slice(0, 120),
      ),
    );
  for (let presses = 0; presses < 120 && (await left()).length > 0; presses++)
    await page.keyboard.press("Tab");
  expect(await left()).toEqual([]);
});
