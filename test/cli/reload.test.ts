import { expect, it } from "vitest";
import { collect, type Frame, framesOf } from "../support/frames.js";
import { startRemote } from "./remote.js";
import { makeFolder, troupe } from "./troupe.js";

const CHANGED = "The config has changed: agents claude; sub-agents research.";

it("serve takes a changed config while a run goes on, and keeps the one before when it is wrong", async () => {
  await using first = await startRemote();
  await using second = await startRemote();
  await using folder = await makeFolder();
  const serve = { port: 0 };
  await folder.configure({ cardUrl: first.cardUrl, config: { serve } });
  await using command = troupe(["serve", "--json"], { cwd: folder.path });
  await command.says("}\n");
  const send = (path: string, body: unknown) =>
    fetch(`${command.lines[0]?.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const run = (runId: string, content: string) =>
    send("/agents/claude/run", { threadId: runId, runId, messages: [{ id: "m", role: "user", content }] });
  const answered = (text: string) => ({
    type: "RUN_FINISHED",
    result: { text: expect.stringContaining(text) },
  });

  const frames: Frame[] = [];
  for await (const frame of framesOf(await run("one", "#input Which one?"))) {
    frames.push(frame);
    if (frame.event.name !== "subagent.input_required") continue;
    await folder.configure({ cardUrl: second.cardUrl, config: { serve } });
    await command.says(CHANGED);
    const { delegationId } = frame.event.value as { delegationId: string };
    expect((await send(`/delegations/${delegationId}/input`, { text: "the old one" })).status).toBe(202);
  }
  expect(frames.at(-1)?.event).toMatchObject(answered("You answered: the old one"));
  expect((await collect(await run("two", "#say Three."))).at(-1)?.event).toMatchObject(answered("Three."));
  const said = async (remote: typeof first, text: string) =>
    JSON.stringify(await remote.seen()).includes(text);
  expect([
    await said(first, "the old one"),
    await said(first, "Three."),
    await said(second, "Three."),
  ]).toEqual([true, false, true]);

  await folder.write("troupe.config.json", '{ "agents": { "claude": { "drivr": "claude" } } }');
  await command.says("The config is not used, the one before it is:");
  expect(command.stderr).toContain("drivr");
  expect((await collect(await run("three", "#say Four."))).at(-1)?.event).toMatchObject(answered("Four."));
  await folder.configure({ cardUrl: second.cardUrl, config: { serve: { port: 0, maxActiveRuns: 3 } } });
  await command.says("Start it again for what has changed in serve.");
  command.child.kill("SIGTERM");
  expect(await command.exit).toBe(0);
});
