import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { start } from "../cli/troupe.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { startTestHost } from "../support/host.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/tanstack-ai/", import.meta.url));

describe("examples/tanstack-ai", () => {
  it.each([undefined, 4, 9, 14])(
    "shows the subagent and the answer once, cut after %s events: its second request attaches",
    async (cut) => {
      await using host = await startTestHost();
      const proxy = await startCuttingProxy(host.url);
      try {
        if (cut !== undefined) proxy.cutAfter(cut);
        const prompt = "#say One.\n#artifact notes.md 64\n#say Two.";
        await using chat = start(process.execPath, ["chat.js", prompt], {
          cwd: EXAMPLE,
          env: { HOST: proxy.url },
        });
        expect(await chat.exit, chat.stderr).toBe(0);
        expect(chat.stdout).toMatch(
          /^ {2}┌ Research Agent\n {2}│ One\.\n {2}│ \[notes\.md\]\n {2}│ Two\.\n {2}└ the model got \d+ bytes\nI'll ask the research agent\.\nThe research agent answered: .*\n$/,
        );
        expect(chat.stderr).toBe("");
        const sent = (await host.remote.seen()).filter(({ method }) => /send|message/i.test(method));
        expect(sent).toHaveLength(1);
      } finally {
        await proxy.close();
      }
    },
  );
});
