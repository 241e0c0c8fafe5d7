import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { startBrowser } from "../browser/browser.js";
import { start } from "../cli/troupe.js";
import { collect, customValue, type Frame } from "../support/frames.js";
import { startTestHost } from "../support/host.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/assistant-ui/", import.meta.url));

describe("examples/assistant-ui", () => {
  it("nests a subagent under its call by itself, while it works, and shows the parent's answer after", async () => {
    await using host = await startTestHost();
    await using browser = await startBrowser();
    await using page = start(process.execPath, ["node_modules/vite/bin/vite.js", "preview", "--port", "0"], {
      cwd: EXAMPLE,
      env: { HOST: host.url, NO_COLOR: "1" },
    });
    await page.says("127.0.0.1:");
    await using opened = await browser.open(/http:\/\/127\.0\.0\.1:\d+/.exec(page.stdout)?.[0] ?? "");
    await opened.page.getByLabel("Message").fill("#say It is at work.\n#input Which one?");
    await opened.page.getByRole("button", { name: "Send" }).click();
    const call = opened.page.locator(".call", { hasText: "delegate_to_agent" });
    await call.locator(".subagent").getByText("It is at work.").waitFor();
    expect(await call.locator(".state").textContent()).toBe("running");
    const { threads } = await (await host.get("/threads")).json();
    const asking = (frame: Frame) => frame.event.name === "subagent.input_required";
    const frames = await collect(await host.get(`/threads/${threads[0].threadId}/events`), asking);
    const { delegationId } = customValue(frames.find(asking));
    await host.send(`/delegations/${delegationId}/input`, { text: "the first" });
    await call.locator(".subagent").getByText("You answered: the first").waitFor();
    await expect.poll(() => call.locator(".state").textContent()).toBe("done");
    await opened.page.getByText("The research agent answered: You answered: the first").waitFor();
    expect(await opened.page.locator(".subagent").count()).toBe(1);
    expect(opened.complaints).toEqual([]);
  });
});
