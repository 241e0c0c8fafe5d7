import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLAUDE_VERSION, install } from "./installed.js";
import { startRemote } from "./remote.js";
import { screenOf } from "./screen.js";
import { type Folder, makeFolder, troupe, troupeInTerminal } from "./troupe.js";

const TOKEN = "tok-9876543210";
const agents = { writer: { driver: "claude" } };
const serve = { port: 0 };

interface Report {
  readonly ok: boolean;
  readonly findings: readonly Record<"area" | "subject" | "state" | "text" | "remedy", string>[];
  readonly tools: readonly { name: string; description: string; bytes: number; schemaBytes: number }[];
}

async function check(folder: Folder, config: object, env: Record<string, string> = {}) {
  const bin = await install(folder, { claude: CLAUDE_VERSION });
  await folder.write("troupe.config.json", JSON.stringify(config));
  await using command = troupe(["check", "--json"], { cwd: folder.path, env: { PATH: bin, ...env } });
  const code = await command.exit;
  expect(command.stderr).toBe("");
  const report = JSON.parse(command.stdout) as Report;
  expect(command.stdout).not.toContain(TOKEN);
  return { code, report, find: (subject: string) => report.findings.find((one) => one.subject === subject) };
}

/** Listens on a port of this machine until it is disposed. */
async function listening<T extends Server>(server: T): Promise<AsyncDisposable & { readonly port: number }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      if ("closeAllConnections" in server)
        (server as unknown as { closeAllConnections(): void }).closeAllConnections();
      server.close();
    },
  };
}
const answering = (answer: RequestListener) => listening(createServer(answer));

describe("troupe check", () => {
  it("all is well: exit code 0, the tools that the model will see, no task sent, nothing written", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote({ token: TOKEN });
    const entry = {
      name: "research",
      agentCardUrl: remote.cardUrl,
      auth: { mode: "bearer", token: "${RESEARCH_TOKEN}" },
    };
    const config = {
      agents,
      subAgents: { agents: [entry, { name: "mate", agent: "writer" }], options: { toolset: "both" } },
      serve,
    };
    const { code, report, find } = await check(folder, config, { RESEARCH_TOKEN: TOKEN });
    expect([code, report.ok]).toEqual([0, true]);
    expect(report.findings.map(({ area, subject, state }) => [area, subject, state])).toEqual([
      ["config", join(folder.path, "troupe.config.json"), "ok"],
      ["config", "RESEARCH_TOKEN", "ok"],
      ["agents", "writer", "ok"],
      ["sub-agents", "research", "ok"],
      ["sub-agents", "mate", "ok"],
      ["journal", "sqlite:.troupe/journal.db", expect.stringMatching(/ok|warning/)],
      ["port", "127.0.0.1:0", "ok"],
    ]);
    expect(find("research")?.text).toMatch(
      /^Research Agent, A2A 1\.0 JSONRPC at http:.*, takes the credential$/,
    );
    const names = report.tools.map(({ name }) => name);
    expect(names).toContain("delegate_to_agent");
    expect(names.filter((name) => name.startsWith("research__")).length).toBeGreaterThan(0);
    for (const { description, bytes, schemaBytes } of report.tools) {
      expect(description).not.toBe("");
      expect(bytes).toBeGreaterThan(schemaBytes);
    }
    const methods = (await remote.seen()).map(({ method }) => method);
    expect(methods).toEqual(["GetTask"]);
    expect(existsSync(join(folder.path, ".troupe"))).toBe(false);
  });

  it("says for each problem what to do, on a page that people can read", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote({ token: TOKEN });
    const bin = await install(folder, {});
    const entry = { name: "research", agentCardUrl: remote.cardUrl };
    await folder.write(
      "troupe.config.json",
      JSON.stringify({ agents, subAgents: { agents: [entry] }, serve }),
    );
    await using command = troupe(["check"], { cwd: folder.path, env: { PATH: bin, NO_COLOR: "1" } });
    expect(await command.exit).toBe(1);
    expect(command.stdout).toMatch(/✖ writer +there is no program claude on the PATH\n +→ npm install -g/);
    expect(command.stdout).toMatch(
      /✖ research +it wants a credential \(HTTP 401\)\n +→ add `auth` to its entry/,
    );
    expect(command.stdout).toMatch(/delegate_to_agent +Gives a bounded task .*kB, schemas /);
    expect(command.stdout).toMatch(/\n✖ 2 problems\.\n$/);
  });

  it.each([
    ["a wrong credential", { token: TOKEN }, "wrong", /refuses the credential \(HTTP 401\)/],
    [
      "a wrong credential for the card",
      { token: TOKEN, guardCard: true },
      "wrong",
      /refuses the credential \(HTTP 401\)/,
    ],
  ])("%s", async (_what, options, token, expected) => {
    await using folder = await makeFolder();
    await using remote = await startRemote(options);
    const entry = { name: "research", agentCardUrl: remote.cardUrl, auth: { mode: "bearer", token } };
    const { code, find } = await check(folder, { agents, subAgents: { agents: [entry] }, serve });
    expect(code).toBe(1);
    expect(find("research")).toMatchObject({
      text: expect.stringMatching(expected),
      remedy: expect.stringContaining("auth"),
    });
  });

  it("remotes that are away, silent, elsewhere, or not signed", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote();
    await using silent = await listening(createTcpServer());
    await using moved = await answering((_request, response) => {
      const interfaces = [
        { url: "http://other.example/", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      ];
      response.end(JSON.stringify({ name: "Moved", supportedInterfaces: interfaces }));
    });
    await using page = await answering((_request, response) => void response.end("<html>"));
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const card = (port: number) => `http://127.0.0.1:${port}/card.json`;
    const list = [
      { name: "away", agentCardUrl: card(1) },
      { name: "silent", agentCardUrl: card(silent.port) },
      { name: "moved", agentCardUrl: card(moved.port) },
      { name: "page", agentCardUrl: card(page.port) },
      {
        name: "unsigned",
        agentCardUrl: remote.cardUrl,
        signature: "required",
        signatureKeys: [{ kid: "k", ...publicKey.export({ format: "jwk" }) }],
      },
    ];
    const options = { probeTimeoutMs: 1_500 };
    const { code, find } = await check(folder, { agents, subAgents: { agents: list, options }, serve });
    expect(code).toBe(1);
    expect(find("away")).toMatchObject({
      text: expect.stringContaining("no connection"),
      remedy: expect.stringContaining("start it"),
    });
    expect(find("silent")).toMatchObject({
      text: "no answer within 1500 ms",
      remedy: expect.stringContaining("probeTimeoutMs"),
    });
    expect(find("moved")).toMatchObject({
      text: expect.stringContaining("points to http://other.example/"),
      remedy: expect.stringContaining("trustedOrigins"),
    });
    expect(find("page")?.state).toBe("problem");
    expect(find("unsigned")).toMatchObject({
      text: expect.stringContaining("is not signed"),
      remedy: expect.stringContaining("signatureKeys"),
    });
  });

  it("an entry that no remote takes is told without what is secret in it", async () => {
    await using folder = await makeFolder();
    const list = [
      { name: "user", agentCardUrl: `http://me:${TOKEN}@127.0.0.1:1/card.json` },
      { name: "line", url: "http://127.0.0.1:1/", auth: { mode: "bearer", token: `${TOKEN}\n` } },
    ];
    const { code, find, report } = await check(folder, { agents, subAgents: { agents: list }, serve });
    expect(code).toBe(1);
    expect(find("user")?.text).toContain("without user and password");
    expect(find("line")?.state).toBe("problem");
    expect(report.tools.map(({ name }) => name)).not.toContain("user");
  });

  it("AG-UI agents are asked with GET, and with their credential", async () => {
    await using folder = await makeFolder();
    const seen: string[] = [];
    await using server = await answering((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      const isAllowed = request.url !== "/guarded" || request.headers.authorization === `Bearer ${TOKEN}`;
      response.statusCode = request.url === "/gone" ? 404 : isAllowed ? 405 : 401;
      response.end("no");
    });
    const at = (name: string, path: string, more: object = {}) => ({
      name,
      url: `http://127.0.0.1:${server.port}${path}`,
      ...more,
    });
    const list = [
      at("open", "/open"),
      at("guarded", "/guarded", { auth: { mode: "bearer", token: "${TOKEN}" } }),
      at("denied", "/guarded", { auth: { mode: "bearer", token: "other" } }),
      at("gone", "/gone"),
    ];
    const { find } = await check(folder, { agents, subAgents: { agents: list }, serve }, { TOKEN });
    expect(find("open")).toMatchObject({
      state: "ok",
      text: expect.stringContaining("asks for no credential"),
    });
    expect(find("guarded")).toMatchObject({
      state: "ok",
      text: expect.stringContaining("takes the credential"),
    });
    expect(find("denied")?.text).toBe("it refuses the credential (HTTP 401)");
    expect(find("gone")?.text).toMatch(/nothing there \(HTTP 404\)/);
    expect(seen.every((line) => line.startsWith("GET "))).toBe(true);
  });

  it("a variable that is missing is told with its place, and its agent is not asked without a credential", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote();
    const entry = {
      name: "research",
      agentCardUrl: remote.cardUrl,
      auth: { mode: "bearer", token: "${RESEARCH_TOKN}" },
    };
    const { code, find, report } = await check(folder, { agents, subAgents: { agents: [entry] }, serve });
    expect(code).toBe(1);
    expect(find("RESEARCH_TOKN")).toMatchObject({
      state: "problem",
      text: "is not set; it is wanted at subAgents.agents.0.auth.token",
      remedy: expect.stringContaining("export RESEARCH_TOKN=…"),
    });
    expect(find("research")?.text).toBe("not asked, because ${RESEARCH_TOKN} is missing");
    expect(report.tools).toEqual([]);
    expect(await remote.seen()).toEqual([]);
  });

  it("without local agents: the tools that `troupe mcp` gives", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote();
    const { report } = await check(folder, {
      subAgents: { agents: [{ name: "research", agentCardUrl: remote.cardUrl }] },
    });
    expect(report.tools.filter(({ name }) => name.startsWith("research__")).length).toBeGreaterThan(0);
    expect(report.tools.map(({ name }) => name)).not.toContain("delegate_to_agent");
  });

  it("a journal that cannot be opened, and a port that is taken", async () => {
    await using folder = await makeFolder();
    await using taken = await listening(createTcpServer());
    await folder.write("notes.txt", "in the way");
    const config = { agents, journal: "sqlite:notes.txt/journal.db", serve: { port: taken.port } };
    const { code, report } = await check(folder, config);
    expect(code).toBe(1);
    const [journal, port] = report.findings.slice(-2);
    expect(journal).toMatchObject({ area: "journal", state: "problem", remedy: expect.any(String) });
    expect(port).toMatchObject({
      area: "port",
      state: "problem",
      text: expect.stringContaining("EADDRINUSE"),
    });
    await folder.write("broken.db", "no database, but somebody's file ".repeat(50));
    const broken = await check(folder, { agents, journal: "sqlite:broken.db", serve });
    expect(broken.find("sqlite:broken.db")).toMatchObject({ state: "problem", remedy: expect.any(String) });
    const open = await check(folder, { agents, journal: "memory", serve: { hostname: "0.0.0.0" } });
    expect(open.report.findings.slice(-2)).toMatchObject([
      { state: "ok" },
      { state: "problem", remedy: expect.stringContaining("127.0.0.1") },
    ]);
    const redis = await check(folder, { agents, journal: "redis://me:tok-9876543210@127.0.0.1:1", serve });
    expect(redis.find("redis")).toMatchObject({
      state: "problem",
      remedy: expect.stringContaining("start the server"),
    });
  });

  it("a host of Troupe that listens there already is no problem", async () => {
    await using folder = await makeFolder();
    await using other = troupe(["demo", "--port", "0", "--json"], { cwd: folder.path });
    await other.says("\n");
    const port = Number(new URL(String(other.lines[0]?.url)).port);
    const { code, find } = await check(folder, { agents, journal: "memory", serve: { port } });
    expect(find(`127.0.0.1:${port}`)).toMatchObject({
      state: "warning",
      text: expect.stringContaining("listens there already"),
    });
    expect(code).toBe(0);
  });

  it("a config that is wrong: exit code 2, all problems, in JSON as well", async () => {
    await using folder = await makeFolder();
    const { code, report } = await check(folder, { agents: { writer: { driver: "cloude" } }, sever: {} });
    expect([code, report.ok, report.findings.length]).toEqual([2, false, 2]);
    expect(report.findings.map(({ text }) => text).join("\n")).toMatch(
      /agents\.writer\.driver: must be one of .*did you mean "claude"\?[\s\S]*no key "sever"; did you mean "serve"\?/,
    );
    await using none = troupe(["check", "-c", "none.yaml"], { cwd: folder.path });
    expect(await none.exit).toBe(2);
    await using empty = await makeFolder();
    await using without = troupe(["check"], { cwd: empty.path });
    expect(await without.exit).toBe(2);
    expect(without.stderr).toContain("troupe init");
  });

  it("takes YAML and JavaScript as well", async () => {
    await using folder = await makeFolder();
    const bin = await install(folder, { claude: CLAUDE_VERSION });
    const yaml = await folder.write("a.yaml", "agents:\n  writer: { driver: claude }\nserve: { port: 0 }\n");
    const module = await folder.write(
      "b.mjs",
      "const driver = 'claude';\nexport default { agents: { writer: { driver } }, serve: { port: 0 } };\n",
    );
    for (const file of [yaml, module]) {
      await using command = troupe(["check", "-c", file], { cwd: folder.path, env: { PATH: bin } });
      expect(await command.exit, command.stdout).toBe(0);
      expect(command.stdout).toContain("All is well.");
    }
  });
});

const hasTerminal = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux");

it.skipIf(!hasTerminal)("in a terminal, what takes longer than a second is named meanwhile", async () => {
  await using folder = await makeFolder();
  await using silent = await listening(createTcpServer());
  const entry = { name: "silent", agentCardUrl: `http://127.0.0.1:${silent.port}/card.json` };
  const config = { agents: {}, subAgents: { agents: [entry], options: { probeTimeoutMs: 2_500 } }, serve };
  await folder.write("troupe.config.json", JSON.stringify(config));
  await using command = troupeInTerminal(["check"], { cwd: folder.path });
  await command.says("waiting for silent");
  expect(await command.exit).toBe(1);
  const screen = screenOf(command.stdout).join("\n");
  expect(screen).not.toContain("waiting for");
  expect(screen).toMatch(/✖ silent +no answer within 2500 ms/);
});
