import { expect, it } from "vitest";
import { collect, type Frame, framesOf } from "../support/frames.js";
import { startRemote } from "./remote.js";
import { isGone, makeFolder, troupe } from "./troupe.js";

it("serves what its config describes, and keeps its credentials to itself", async () => {
  await using remote = await startRemote({ token: "research-secret" });
  await using folder = await makeFolder();
  await folder.configure({
    cardUrl: remote.cardUrl,
    subAgent: { auth: { mode: "bearer", token: "${RESEARCH_TOKEN}" } },
    config: { serve: { port: 0 } },
  });
  await using command = troupe(["serve"], { cwd: folder.path, env: { RESEARCH_TOKEN: "research-secret" } });
  await command.says("Remote    research: ready");
  const url = /Console {3}(http:\/\/127\.0\.0\.1:\d+)\//.exec(command.stdout)?.[1];
  expect(command.stdout).toContain("Agents    claude\n");
  const response = await fetch(`${url}/agents/claude/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: "t",
      runId: "r",
      messages: [{ id: "m", role: "user", content: "#say Found." }],
    }),
  });
  const frames = await collect(response);
  expect(frames.at(-1)?.event).toMatchObject({
    type: "RUN_FINISHED",
    result: { text: "The research agent answered: Found." },
  });
  command.child.kill("SIGTERM");
  expect(await command.exit).toBe(0);
  expect(command.stdout + command.stderr + JSON.stringify(frames)).not.toContain("research-secret");
});

it("a remote that does not answer is reported, and no reason not to start", async () => {
  await using folder = await makeFolder();
  await folder.configure({ cardUrl: "http://127.0.0.1:1/", config: { serve: { port: 0 } } });
  await using command = troupe(["serve"], { cwd: folder.path });
  await command.says("Remote    research: unreachable (");
  await using json = troupe(["serve", "--json"], { cwd: folder.path });
  await json.says("}\n");
  expect(json.lines).toEqual([
    { url: expect.stringMatching(/^http:/), mcpUrl: expect.stringMatching(/\/mcp$/) },
  ]);
  expect(json.stderr).toMatch(/remote agent "research" cannot be reached\. .*127\.0\.0\.1:1/);
  expect(await (await fetch(`${json.lines[0]?.url}/agents`)).json()).toMatchObject({
    subAgents: [{ status: "unreachable" }],
  });
  for (const { child, exit } of [command, json]) {
    child.kill("SIGINT");
    expect(await exit).toBe(0);
  }
});

it("--port goes before the config's, and a config may be anywhere", async () => {
  await using remote = await startRemote();
  await using folder = await makeFolder();
  await using elsewhere = await makeFolder();
  const config = await folder.configure({ cardUrl: remote.cardUrl, config: { serve: { port: 1 } } });
  await using command = troupe(["serve", "--config", config, "--port", "0", "--json"], {
    cwd: elsewhere.path,
  });
  await command.says("}\n");
  expect((await fetch(`${command.lines[0]?.url}/healthz`)).status).toBe(200);
  command.child.kill("SIGHUP");
  expect(await command.exit).toBe(0);
});

it("SIGINT cancels what runs, tells its readers, and ends cleanly", async () => {
  await using remote = await startRemote();
  await using folder = await makeFolder();
  await folder.configure({ cardUrl: remote.cardUrl, config: { serve: { port: 0 } } });
  await using command = troupe(["serve", "--json"], { cwd: folder.path });
  await command.says("}\n");
  const response = await fetch(`${command.lines[0]?.url}/agents/claude/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: "t",
      runId: "r",
      messages: [{ id: "m", role: "user", content: "#say Busy.\n#hang" }],
    }),
  });
  const frames: Frame[] = [];
  for await (const frame of framesOf(response)) {
    frames.push(frame);
    if (frame.event.name === "subagent.text.delta") command.child.kill("SIGINT");
  }
  expect(await command.exit).toBe(0);
  expect(command.stderr).toContain("Stopping: cancelling what still runs.");
  expect(frames.map(({ event }) => event.name)).toContain("subagent.cancelled");
  expect(frames.at(-1)?.event).toMatchObject({
    type: "RUN_FINISHED",
    result: { status: "cancelled", reason: "the host is closing" },
  });
  expect(await remote.cancels()).toHaveLength(1);
  expect(await isGone(folder.claudePid())).toBe(true);
});

it("SIGTERM lets what runs end, takes nothing new, and waits no longer than its bound", async () => {
  await using remote = await startRemote();
  await using folder = await makeFolder();
  const post = (url: string, runId: string, content: string) =>
    fetch(`${url}/agents/claude/run`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ threadId: runId, runId, messages: [{ id: "m", role: "user", content }] }),
    });
  for (const [drainSeconds, end] of [
    [30, { text: expect.stringContaining("Two.") }],
    [0.2, { status: "cancelled", reason: "the host is closing" }],
  ] as const) {
    await folder.configure({ cardUrl: remote.cardUrl, config: { serve: { port: 0, drainSeconds } } });
    await using command = troupe(["serve", "--json"], { cwd: folder.path });
    await command.says("}\n");
    const url = String(command.lines[0]?.url);
    const frames: Frame[] = [];
    for await (const frame of framesOf(
      await post(url, `r${drainSeconds}`, "#say One.\n#delay 1500\n#say Two."),
    )) {
      frames.push(frame);
      if (frame.event.name !== "subagent.text.delta" || command.child.killed) continue;
      command.child.kill("SIGTERM");
      await command.says("Stopping");
      expect((await post(url, "late", "Hello")).status).toBe(503);
    }
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: end });
    expect(await command.exit).toBe(0);
  }
});
