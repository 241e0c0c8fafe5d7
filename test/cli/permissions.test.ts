import { describe, expect, it } from "vitest";
import type { Script } from "../../src/testing/claude/script.js";
import { startRemote } from "./remote.js";
import { makeFolder, troupe } from "./troupe.js";

/** It asks for a permission, and then says what came of it. */
const ASKS: Script = {
  turns: [
    [
      { permission: { tool: "Bash", input: { command: "make" }, result: "it is made" } },
      { say: "Outcome: {{result.0}}" },
    ],
  ],
};

describe("permissions in a config, where nobody can answer", () => {
  it.each([
    ["allow", "Outcome: it is made"],
    ["deny", "Not permitted by the host's policy"],
    [{ permission: "allow", plan: "deny", question: "deny" }, "Outcome: it is made"],
    [{ permission: "deny" }, "Not permitted by the host's policy"],
  ])("%j", async (permissions, expected) => {
    await using folder = await makeFolder();
    await using remote = await startRemote();
    await folder.configure({
      cardUrl: remote.cardUrl,
      script: ASKS,
      agent: { permissions, approvalTimeoutMs: 60_000 },
    });
    await using command = troupe(["run", "Make it"], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    expect(command.stdout).toContain(expected);
    // Nothing reached a person.
    expect(command.stdout).not.toContain("? ");
  });

  it("what is asked expires when the config says", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote();
    await folder.configure({ cardUrl: remote.cardUrl, script: ASKS, agent: { approvalTimeoutMs: 100 } });
    // By default it would wait for five minutes.
    await using command = troupe(["run", "--json", "Make it"], { cwd: folder.path });
    expect(await command.exit).toBe(0);
    expect(command.lines.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: "approval.resolved", decision: "deny", by: "timeout" }),
    );
  });
});
