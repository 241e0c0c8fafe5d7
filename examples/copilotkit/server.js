// Claude Code calls Codex, seen in CopilotKit's chat. Three servers on loopback: Codex's host (another process), Claude Code's host, and
// this one, which serves the page and CopilotKit's runtime.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";
import { scriptedClaude } from "troupe/testing";
import { CLAUDE_SCRIPT } from "./scripts.js";

// It is read when the runtime is imported.
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
const { CopilotRuntime } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");
const { HttpAgent } = await import("@ag-ui/client");
const { HostRunner } = await import("./host-runner.js");

const PAGE = fileURLToPath(new URL("dist", import.meta.url));
if (!existsSync(PAGE)) throw new Error("The page is not built: npm run build");

const page = createServer();
page.listen(Number(process.env.PORT ?? 0), "127.0.0.1");
await once(page, "listening");
const origin = `http://127.0.0.1:${page.address().port}`;

const scripted = process.argv.includes("--scripted");
const other = fork(fileURLToPath(new URL("codex.js", import.meta.url)), scripted ? ["--scripted"] : []);
const gone = () => process.exit(1);
other.once("exit", gone);
const [{ cardUrl }] = await once(other, "message");
const agent = createAgent(claude(scripted ? { executable: scriptedClaude() } : {}), {
  ...(scripted && { env: { TROUPE_SCRIPT_JSON: JSON.stringify(CLAUDE_SCRIPT) } }),
});
const host = await createHost({
  agents: { claude: agent },
  subAgents: [a2a({ name: "codex", agentCardUrl: cardUrl })],
  // The page answers and stops subagents at the host itself.
  origins: [origin],
});
const { url } = await host.listen({ port: Number(process.env.HOST_PORT ?? 0) });

const copilot = createCopilotNodeListener({
  runtime: new CopilotRuntime({
    // Only its name counts: the runner talks to the host.
    agents: { claude: new HttpAgent({ url: `${url}/agents/claude/run` }) },
    runner: new HostRunner({ url, agent: "claude" }),
  }),
  basePath: "/api/copilotkit",
});
page.on("request", (request, response) => {
  // CopilotKit's runtime answers every page of every site, and behind it is a program that runs commands.
  const { host: asked = "", origin: from } = request.headers;
  const foreign = from !== undefined && from !== `http://${asked}`;
  if (foreign || !/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(asked)) return response.writeHead(403).end();
  const [pathname] = request.url.split("?", 1);
  if (pathname.startsWith("/api/copilotkit")) return copilot(request, response);
  if (pathname === "/host.json") {
    return response.setHeader("content-type", "application/json").end(JSON.stringify({ url }));
  }
  const file = join(PAGE, pathname === "/" ? "index.html" : normalize(pathname));
  const types = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
  };
  const stream = createReadStream(file);
  stream.once("open", () =>
    response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream"),
  );
  stream.once("error", () => response.writeHead(404).end());
  stream.pipe(response);
});
console.log(`Open ${origin}/    (the host's own console: ${url}/)`);

const stop = async () => {
  other.off("exit", gone);
  page.closeAllConnections();
  page.close();
  await host.close();
  other.disconnect();
  process.exit();
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
