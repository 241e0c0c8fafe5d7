import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { startScriptedAgent } from "../../src/testing/a2a/start.js";
import { type Folder, makeFolder, troupe } from "../cli/troupe.js";
import { Collector } from "../support/collector.js";
import { collect } from "../support/frames.js";

const REGISTER = pathToFileURL(join(import.meta.dirname, "register.js")).href;

/** Serves a folder's config, and runs its agent once. */
async function serveAndRun(folder: Folder, env: Record<string, string>): Promise<void> {
  await using command = troupe(["serve", "--json", "--port", "0"], { cwd: folder.path, env });
  await command.says('"url"');
  const { url } = command.lines[0] ?? {};
  const response = await fetch(`${url}/agents/claude/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: "thread-1",
      runId: "run-1",
      messages: [{ id: "m", role: "user", content: "#say Hello." }],
    }),
  });
  expect((await collect(response)).at(-1)?.event.type).toBe("RUN_FINISHED");
  command.child.kill("SIGTERM");
  await command.exit;
}

it("troupe serve: a config's sideband and OpenTelemetry work, and what is left goes out at the end", async () => {
  await using collector = await Collector.start();
  const remote = await startScriptedAgent({ name: "Research Agent", paceMs: 0 });
  await using _ = { [Symbol.asyncDispose]: () => remote.close() };
  await using folder = await makeFolder();
  await folder.configure({
    cardUrl: remote.cardUrl,
    config: {
      telemetry: {
        openTelemetry: true,
        sideband: {
          url: collector.url,
          headers: { authorization: "Bearer ${COLLECTOR_TOKEN}" },
          show: { usage: false },
          // So late that only the end sends it.
          flushMs: 600_000,
        },
      },
    },
  });
  const spans = join(folder.path, "spans.jsonl");
  await serveAndRun(folder, {
    COLLECTOR_TOKEN: "tok-77aa31",
    NODE_OPTIONS: `--import ${REGISTER}`,
    TEST_SPANS: spans,
  });

  expect(collector.batches).toHaveLength(1);
  expect(collector.batches[0]?.headers.authorization).toBe("Bearer tok-77aa31");
  const names = collector.events.map(({ artifact }) => artifact.name);
  expect(names).toEqual(expect.arrayContaining(["trace.mcp", "trace.delegation"]));
  expect(names).not.toContain("trace.usage");
  const told = readFileSync(spans, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(told.map(({ name }) => name)).toEqual([
    "a2a research",
    "invoke_agent Research Agent",
    "execute_tool delegate_to_agent",
    "invoke_agent claude",
  ]);
});

it.each([
  [{ sideband: { url: "ftp://x.test/" } }, /telemetry\.sideband\.url: must be a URL that begins with http/],
  [
    { sideband: { url: "http://x.test/", header: {} } },
    /telemetry\.sideband: there is no key "header"; did you mean "headers"\?/,
  ],
  [{ openTelemetry: true, sideBand: {} }, /telemetry: there is no key "sideBand"; did you mean "sideband"\?/],
  [
    { sideband: { url: "http://x.test/", headers: { "x-key": "${NOT_SET}" } } },
    /\$\{NOT_SET\}, which the environment does not have/,
  ],
  [{ sideband: { url: "http://x.test/", headers: { "x-key": "${BAD}" } } }, /header "x-key" cannot be sent/],
])("a config with %j is refused, without its secrets", async (telemetry, message) => {
  await using folder = await makeFolder();
  await folder.configure({ cardUrl: "http://127.0.0.1:1/", config: { telemetry } });
  await using command = troupe(["serve", "--json", "--port", "0"], {
    cwd: folder.path,
    env: { BAD: "tok-1234\u0001" },
  });
  expect(await command.exit).not.toBe(0);
  expect(command.stderr).toMatch(message);
  expect(command.stderr).not.toContain("tok-1234");
});
