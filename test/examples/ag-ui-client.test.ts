import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser, type TestBrowser, type TestPage } from "../browser/browser.js";
import { type Command, start } from "../cli/troupe.js";

let example: Command;
let browser: TestBrowser;
let url: string;

beforeAll(async () => {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  example = start(process.execPath, ["examples/ag-ui-client/main.js"], { cwd });
  browser = await startBrowser();
  await example.says("Open ");
  url = /Open (\S+)/.exec(example.stdout)?.[1] ?? "";
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  example?.child.kill("SIGTERM");
  expect(await example?.exit, example?.stderr).toBe(0);
});

const stateOf = ({ page }: TestPage, index = 0) => page.locator(".state").nth(index).textContent();

async function send(opened: TestPage, text: string): Promise<void> {
  await opened.page.getByLabel("Message").fill(text);
  await opened.page.getByRole("button", { name: "Send" }).click();
}

describe("examples/ag-ui-client", () => {
  it("nests a subagent under its call with AG-UI's own client, live, with its file", async () => {
    await using opened = await browser.open(url);
    await send(opened, "#say It is at work.\n#artifact notes.md 64\n#input Which one?");
    const card = opened.page.locator(".assistant:has(code:text('delegate_to_agent')) .subagent");
    await card.getByText("It is at work.").waitFor();
    expect(await stateOf(opened)).toBe("working");
    const file = await card.getByRole("link", { name: "notes.md" }).getAttribute("href");
    const [, delegationId] = /delegations\/([^/]+)\//.exec(String(file)) ?? [];
    expect((await fetch(new URL(String(file), url))).status).toBe(200);
    await fetch(new URL(`/troupe/delegations/${delegationId}/input`, url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "the first" }),
    });
    await expect.poll(() => stateOf(opened)).toBe("done");
    await opened.page.getByText("The research agent answered: You answered: the first").waitFor();

    // Its words stand in its card alone, and another subagent's under another call.
    await send(opened, "#say Something else.");
    await expect.poll(() => stateOf(opened, 1)).toBe("done");
    expect(await opened.page.getByText("It is at work.", { exact: true }).count()).toBe(1);
    expect(await opened.page.locator(".subagent").count()).toBe(2);
    expect(await card.first().textContent()).not.toContain("Something else.");
    expect(opened.complaints).toEqual([]);
  });

  it("Stop ends the subagent, and the page is told so", async () => {
    await using opened = await browser.open(url);
    await send(opened, "#say It is at work.\n#hang");
    await opened.page.locator(".subagent").getByText("It is at work.").waitFor();
    await opened.page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => stateOf(opened)).toBe("stopped");
    await expect.poll(() => opened.page.getByRole("button", { name: "Stop" }).isDisabled()).toBe(true);
    expect(opened.complaints).toEqual([]);
  });
});
