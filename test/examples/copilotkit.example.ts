import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { fileURLToPath } from "node:url";
import type { Observable, Subscription } from "rxjs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startBrowser, type TestBrowser, type TestPage } from "../browser/browser.js";
import { type Command, type Folder, makeFolder, start } from "../cli/troupe.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { deferred } from "../support/deferred.js";
import { startTestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/copilotkit/", import.meta.url));

let folder: Folder;
let example: Command;
let browser: TestBrowser;
let url: string;

beforeAll(async () => {
  folder = await makeFolder();
  example = start(process.execPath, ["server.js", "--scripted"], {
    cwd: EXAMPLE,
    env: { HOME: folder.path, CODEX_WORKSPACE: folder.path },
  });
  await example.says("Open ");
  url = /Open (\S+)/.exec(example.stdout)?.[1] ?? "";
  browser = await startBrowser();
});

// A failure of a program stands in its output alone.
afterEach(({ onTestFailed }) => onTestFailed(() => console.error(example.stderr)));

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  example?.child.kill("SIGTERM");
  expect(await example?.exit, example?.stderr).toBe(0);
  await folder?.[Symbol.asyncDispose]();
});

/** The card of Codex under the parent's call of this place. */
const card = ({ page }: TestPage, index: number) => page.locator(".call").nth(index).locator(".subagent");

const stateOf = (opened: TestPage, index: number) => card(opened, index).locator(".state").textContent();

const words = async ({ page }: TestPage) => (await page.locator("main").textContent()) ?? "";

async function ask(opened: TestPage): Promise<void> {
  await opened.page.locator("textarea").fill("say hello");
  await opened.page.keyboard.press("Enter");
  await expect
    .poll(() => opened.page.locator(".subagent .state").allTextContents())
    .toEqual(["Needs you", "Needs you"])
    .catch(async (cause) => {
      throw new Error(await words(opened), { cause });
    });
}

/** Besides our own the page asks nobody anything. */
function expectQuiet(opened: TestPage): void {
  expect(opened.complaints).toEqual([]);
  expect(opened.requests.filter((address) => new URL(address).hostname !== "127.0.0.1")).toEqual([]);
}

describe("examples/copilotkit", () => {
  it("shows Codex at work under each of two calls, before they have a result, and across a reload", async () => {
    await using opened = await browser.open(url);
    await ask(opened);
    for (const [index, objective] of ["Write: say hello", "Test: say hello"].entries()) {
      expect(await card(opened, index).count()).toBe(1);
      expect(await card(opened, index).textContent()).toContain(`My task is this. ${objective}`);
    }
    const before = await words(opened);
    expect(before).not.toContain("Codex says");

    await opened.page.reload();
    for (const index of [0, 1]) await expect.poll(() => stateOf(opened, index)).toBe("Needs you");
    expect(await words(opened)).toBe(before);

    await card(opened, 1).getByRole("button", { name: "approve" }).click();
    await expect.poll(() => stateOf(opened, 1)).toBe("Done");
    expect(await card(opened, 1).textContent()).toMatch(
      /All of it is done, and the tests pass\.\s*you: [\d.]+ kB · the model: \d+ B$/,
    );
    expect(await stateOf(opened, 0)).toBe("Needs you");
    await card(opened, 0).getByRole("button", { name: "approve" }).click();
    await expect.poll(() => words(opened)).toContain("Codex says: All of it is done, and the tests pass.");
    expect(await opened.page.locator(".subagent").count()).toBe(2);

    const after = await words(opened);
    await opened.page.reload();
    await expect.poll(() => words(opened)).toBe(after);
    expectQuiet(opened);
  });

  it.each([5, 14, 24])(
    "goes on when the page's connection breaks after %i events, and shows nothing twice",
    async (count) => {
      const proxy = await startCuttingProxy(url);
      try {
        await using opened = await browser.open(proxy.url);
        await opened.page.locator("textarea").waitFor();
        proxy.cutAfter(count);
        await ask(opened);
        expect(opened.complaints).not.toEqual([]);
        const shown = await words(opened);
        expect(shown.match(/My task is this/g)).toHaveLength(2);
        expect(shown.match(/I'll ask Codex/g)).toHaveLength(1);
        await opened.page.reload();
        await expect.poll(() => words(opened)).toBe(shown);
      } finally {
        await proxy.close();
      }
    },
  );

  it("answers no page of another site, whatever name that site has for this machine", async () => {
    const port = new URL(url).port;
    const status = async (headers: Record<string, string>) => {
      const asked = request({ port, host: "127.0.0.1", path: "/api/copilotkit/info", headers }).end();
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    const own = `127.0.0.1:${port}`;
    expect(await status({ host: own, origin: `http://${own}` })).toBe(200);
    expect(await status({ host: own, origin: "http://evil.example" })).toBe(403);
    expect(await status({ host: "evil.example", origin: "http://evil.example" })).toBe(403);
  });

  it("loses no message that is sent as soon as it can be typed", async () => {
    await using opened = await browser.open("about:blank");
    const { promise, resolve } = deferred();
    await opened.page.route("**/api/copilotkit/info", async (route) => {
      await promise;
      await route.continue();
    });
    await opened.page.goto(url);
    await opened.page.getByText("Connecting").waitFor();
    expect(await opened.page.locator("textarea").count()).toBe(0);
    resolve();
    await ask(opened);
    expectQuiet(opened);
  });

  it("stops one subagent, and the other goes on", async () => {
    await using opened = await browser.open(url);
    await ask(opened);
    await card(opened, 0).getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => stateOf(opened, 0)).toBe("Stopped");
    expect(await stateOf(opened, 1)).toBe("Needs you");
    await card(opened, 1).getByRole("button", { name: "approve" }).click();
    await expect.poll(() => words(opened)).toContain("Codex could not do it");
    expectQuiet(opened);
  });

  it("stops the run: the cards say so, and the next message is answered", async () => {
    await using opened = await browser.open(url);
    const run = opened.page.waitForResponse((response) => response.url().endsWith("/agent/claude/run"));
    await ask(opened);
    await opened.page.getByTestId("copilot-send-button").click();
    for (const index of [0, 1]) await expect.poll(() => stateOf(opened, index)).toBe("Stopped");
    // The stream is not cut: it tells how all of it ended, then ends.
    expect(await (await run).finished()).toBeNull();
    await opened.page.locator("textarea").fill("say it again");
    await opened.page.keyboard.press("Enter");
    await expect.poll(() => opened.page.locator(".subagent").count()).toBe(4);
    await card(opened, 2)
      .getByText(/My task is this\. Write: [\s\S]*say it again/)
      .waitFor();
    expectQuiet(opened);
  });
});

describe("its HostRunner", () => {
  it("goes on after the last event when the connection to the host breaks", async () => {
    const { HostRunner } = await import(`${EXAMPLE}host-runner.js`);
    await using host = await startTestHost();
    const proxy = await startCuttingProxy(host.url);
    try {
      const runner = new HostRunner({ url: proxy.url, agent: "claude" });
      proxy.cutAfter(6);
      const input = {
        threadId: "thread-1",
        runId: "run-1",
        messages: [{ id: "1", role: "user", content: "x" }],
      };
      const whole = await all(runner.run({ threadId: "thread-1", input }));
      expect(await all(runner.connect({ threadId: "thread-1" }))).toEqual(whole);
      await verify(whole.map((event) => ({ id: undefined, event })));
      expect(whole.at(-1)?.type).toBe("RUN_FINISHED");
      expect(await runner.isRunning({ threadId: "thread-1" })).toBe(false);
      expect(await runner.stop({ threadId: "thread-1" })).toBe(false);
    } finally {
      await proxy.close();
    }
  });

  it("tells what the host refuses as the run's error", async () => {
    const { HostRunner } = await import(`${EXAMPLE}host-runner.js`);
    await using host = await startTestHost();
    const runner = new HostRunner({ url: host.url, agent: "nobody" });
    const input = { threadId: "thread-1", runId: "run-1", messages: [] };
    expect(await all(runner.run({ threadId: "thread-1", input }))).toEqual([
      expect.objectContaining({ type: "RUN_ERROR", code: "agent_not_found" }),
    ]);
  });
});

function all(events: Observable<{ readonly type: string }>): Promise<{ readonly type: string }[]> {
  const seen: { readonly type: string }[] = [];
  return new Promise((resolve, reject) => {
    const _subscription: Subscription = events.subscribe({
      next: (event) => seen.push(event),
      error: reject,
      complete: () => resolve(seen),
    });
  });
}
