import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser, type TestBrowser } from "./browser.js";
import { subagent } from "./scripted-delegation.js";
import { type ScriptedHost, type ScriptedRun, startScriptedHost } from "./scripted-host.js";

const DIRECTORY = fileURLToPath(new URL("../../dist/console/", import.meta.url));
const DELEGATIONS = 50;
const DELTAS = 100_000;
/** Deltas between two pauses of the sender. */
const BURST = 500;

let browser: TestBrowser;
let host: ScriptedHost;
const runs: ScriptedRun[] = [];
beforeAll(async () => {
  browser = await startBrowser();
  host = await startScriptedHost({ directory: DIRECTORY, onRun: (run) => runs.push(run) });
});
afterAll(async () => {
  await host?.close();
  await browser?.[Symbol.asyncDispose]();
});

/** What the page counts of itself while it works. */
interface Counted {
  /** Tasks of more than 50 ms. */
  long: number;
  /** Changes of a card that is in view, and of one that is not. */
  shown: number;
  hidden: number;
}

async function count(page: Page): Promise<() => Promise<Counted>> {
  await page.evaluate(() => {
    const counted = { long: 0, shown: 0, hidden: 0 };
    Object.assign(window, { counted });
    new PerformanceObserver((list) => {
      counted.long += list.getEntries().length;
    }).observe({ type: "longtask" });
    const bodies = document.querySelectorAll("article .subagent-body");
    const observe = (body: Element | undefined, name: "shown" | "hidden") => {
      if (!body) throw new Error("there is no card");
      const observer = new MutationObserver(() => counted[name]++);
      observer.observe(body, { subtree: true, childList: true, characterData: true });
    };
    observe(bodies[0], "hidden");
    observe(bodies[bodies.length - 1], "shown");
  });
  return () => page.evaluate(() => (window as unknown as { counted: Counted }).counted);
}

const identity = (index: number) => ({
  delegationId: `del-${index}`,
  agentName: `Agent ${index}`,
  parentToolCallId: undefined,
});

it("stays usable with 50 delegations and 100,000 deltas, draws no more than is seen, and reads it all again", {
  timeout: 120_000,
}, async () => {
  await using opened = await browser.open(host.url);
  const { page } = opened;
  // How fast it is, is the machine's matter; what it draws and holds up is ours.
  page.setDefaultTimeout(60_000);
  await opened.send("Ask everybody");
  await expect.poll(() => runs.length).toBe(1);
  const [run] = runs;
  if (!run) throw new Error("no run");
  for (let index = 0; index < DELEGATIONS; index++) {
    subagent(run, "started", { ...identity(index), objective: "Write" });
    subagent(run, "text.delta", { ...identity(index), messageId: "m0", delta: "I begin. " });
  }
  await expect.poll(() => page.locator("article .latest").count()).toBe(DELEGATIONS);
  const counted = await count(page);
  for (let delta = 0; delta < DELTAS; delta++) {
    const messageId = `m${Math.floor(delta / (DELEGATIONS * 100))}`;
    const text = delta % 1_700 === 0 ? "\n\nAnother **part**. " : `word${delta} `;
    subagent(run, "text.delta", { ...identity(delta % DELEGATIONS), messageId, delta: text });
    if (delta % BURST === 0) await setImmediate();
    if (delta === DELTAS / 2) await page.getByLabel("Message").fill("Still here");
  }
  await page.locator("article", { hasText: `word${DELTAS - 1}` }).waitFor();
  const { long, shown, hidden } = await counted();
  expect(shown).toBeGreaterThan(5);
  expect(shown).toBeLessThan(DELTAS / DELEGATIONS);
  expect(hidden).toBeLessThan(4);
  // A few per ten thousand deltas, on a slow machine.
  expect(long).toBeLessThan(100);
  expect(await page.getByLabel("Message").inputValue()).toBe("Still here");

  const over = { result: {}, sizes: { seen: 1, model: 1 } };
  for (let index = 0; index < DELEGATIONS; index++)
    subagent(run, "finished", { ...identity(index), ...over });
  run.emit({ type: "RUN_FINISHED", threadId: run.threadId, runId: run.runId });
  await opened.runIs("Done");
  await page.reload();
  await opened.runIs("Done");
  expect(await page.locator("article").count()).toBe(DELEGATIONS);
  expect(await page.locator(".lane").count()).toBe(DELEGATIONS + 1);
  expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(4_000);
  expect(opened.complaints).toEqual([]);
});
