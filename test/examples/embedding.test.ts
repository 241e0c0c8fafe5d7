import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { startRemote } from "../cli/remote.js";
import { type Command, makeFolder, start } from "../cli/troupe.js";
import { collect, nameOf, subagentText } from "../support/frames.js";
import { verify } from "../support/verify.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const input = (content: string) => ({
  threadId: "thread-1",
  runId: "run-1",
  messages: [{ id: "m1", role: "user", content }],
});

const post = (url: string, content: string, init: RequestInit = {}) => ({
  url,
  init: {
    ...init,
    method: "POST",
    headers: { "content-type": "application/json", ...init.headers },
    body: JSON.stringify(input(content)),
  },
});

/** Starts an example that serves, and gives its address. */
async function serving(name: string): Promise<{ example: Command; url: string }> {
  const example = start(process.execPath, [`examples/${name}/main.js`], { cwd: ROOT });
  await example.says("Open ");
  return { example, url: /Open (\S+)\//.exec(example.stdout)?.[1] ?? "" };
}

async function stopped(example: Command): Promise<void> {
  example.child.kill("SIGTERM");
  expect(await example.exit, example.stderr).toBe(0);
}

describe("examples/express", () => {
  it("the host stands below the app's path and behind its login; a user's thread is nobody else's", async () => {
    const { example, url } = await serving("express");
    await using _ends = example;
    const login = await fetch(`${url}/login/ada`, { redirect: "manual" });
    const cookie = String(login.headers.get("set-cookie")).split(";", 1)[0] ?? "";
    const run = post(`${url}/troupe/agents/claude/run`, "#say Found it.", { headers: { cookie } });
    expect(
      (await fetch(run.url, { ...run.init, headers: { "content-type": "application/json" } })).status,
    ).toBe(401);
    const frames = await collect(await fetch(run.url, run.init));
    await verify(frames);
    expect(subagentText(frames)).toBe("Found it.");
    expect(frames.map(nameOf).at(-1)).toBe("RUN_FINISHED");

    const threads = async (user: string) =>
      (await (await fetch(`${url}/troupe/threads`, { headers: { cookie: `user=${user}` } })).json()).threads;
    expect(await threads("ada")).toMatchObject([{ threadId: "thread-1" }]);
    expect(await threads("bob")).toEqual([]);
    const page = await fetch(`${url}/troupe/`, { headers: { cookie } });
    expect(await page.text()).toContain("<html");
    await stopped(example);
  });
});

describe("examples/hono", () => {
  it("the host stands below the app's path", async () => {
    const { example, url } = await serving("hono");
    await using _ends = example;
    const run = post(`${url}/troupe/agents/claude/run`, "#say Found it.");
    const frames = await collect(await fetch(run.url, run.init));
    await verify(frames);
    expect(subagentText(frames)).toBe("Found it.");
    const page = await fetch(url);
    expect(page.url).toBe(`${url}/troupe/`);
    expect(await page.text()).toContain("<html");
    await stopped(example);
  });
});

describe("examples/next", () => {
  it("the route handler answers Web-standard requests, as Next.js calls it", async () => {
    await using remote = await startRemote();
    await using folder = await makeFolder();
    // `claude` is found as anybody's is: on the PATH.
    await folder.configure({ cardUrl: remote.cardUrl });
    vi.stubEnv("PATH", `${folder.path}${delimiter}${process.env.PATH}`);
    vi.stubEnv("RESEARCH_CARD_URL", remote.cardUrl);
    const route = await import(`${ROOT}examples/next/app/api/troupe/[...path]/route.js`);
    const { troupeHost } = await import(`${ROOT}examples/next/lib/host.js`);
    try {
      expect(route).toMatchObject({ runtime: "nodejs", dynamic: "force-dynamic" });
      const agents = await route.GET(new Request("http://localhost:3000/api/troupe/agents"));
      expect(await agents.json()).toMatchObject({
        agents: [{ key: "claude" }],
        subAgents: [{ key: "research" }],
      });
      const run = post(
        "http://localhost:3000/api/troupe/agents/claude/run?subagents=native",
        "#say Found it.",
      );
      const frames = await collect(await route.POST(new Request(run.url, run.init)));
      await verify(frames);
      expect(frames.map(nameOf)).toContain("SUBAGENT_FINISHED");
      // Next.js says its own name in the address, whatever name was asked for.
      const from = (headers: Record<string, string>) =>
        route.GET(new Request("http://localhost:3000/api/troupe/agents", { headers }));
      expect((await from({ host: "evil.example" })).status).toBe(403);
      expect((await from({ host: "localhost:3000", origin: "http://evil.example" })).status).toBe(403);
      expect((await from({ host: "localhost:3000", origin: "http://localhost:3000" })).status).toBe(200);
    } finally {
      await (await troupeHost()).close();
      vi.unstubAllEnvs();
    }
  });
});

describe("examples/two-fakes", () => {
  it("the skill that was called is the one that answers, and no other", async () => {
    const [, command = ""] =
      /^node (\S+ ".*")$/m.exec(await readFile(`${ROOT}examples/two-fakes/README.md`, "utf8")) ?? [];
    const [, script = "", prompt = ""] = /^(\S+) "(.*)"$/.exec(command) ?? [];
    const { stdout } = await promisify(execFile)(process.execPath, [script, prompt], {
      cwd: ROOT,
      timeout: 25_000,
    });
    const review = `coding/review was asked: Review ${prompt}`;
    const summary = `research/summarize was asked: Sum up ${prompt}`;
    expect(stdout).toContain(`coding │ ${review}\n`);
    expect(stdout).toContain(`research │ ${summary}\n`);
    // The parent's model got each answer under the call it belongs to.
    expect(stdout).toContain(`The review: ${review}\nThe summary: ${summary}\n`);
    expect(stdout.match(/(coding|research)\/\w+ was asked/g)?.map((text) => text.split(" ")[0])).toEqual(
      expect.arrayContaining(["coding/review", "research/summarize"]),
    );
    expect(stdout).not.toMatch(/refactor|research\/search/);
    expect(stdout).toContain("2 delegations");
  });
});
