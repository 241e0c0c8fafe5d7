// Installs the foreign programs, exact versions, each into its own folder. Runs none of their install scripts.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PEERS = {
  mastra: [
    "@mastra/core@1.71.0",
    "@mastra/hono@1.7.9",
    "@mastra/libsql@1.23.1",
    "hono@4.13.19",
    "@hono/node-server@2.1.9",
    "@ai-sdk/openai-compatible@2.0.92",
    "zod@4.6.7",
  ],
  adk: ["@google/adk@2.0.0", "express@5.3.0"],
  clients: [
    "a2a-ai-provider@0.5.0-alpha.1",
    "ai@6.0.326",
    "@ag-ui/a2a@0.0.6",
    "@ag-ui/client@0.0.59",
    "@ag-ui/core@0.0.59",
  ],
  gemini: ["@google/gemini-cli@0.61.0"],
  tanstack: ["@tanstack/ai@0.58.0", "@tanstack/ai-openai@0.23.1", "zod@4.6.7"],
  strands: [
    "@ag-ui/aws-strands@0.2.3",
    "@ag-ui/a2ui-toolkit@0.0.4",
    "@strands-agents/sdk@1.16.0",
    "@ag-ui/core@0.0.59",
    "@ag-ui/encoder@0.0.59",
    "@ag-ui/client@0.0.59",
    "express@5.3.0",
    "cors@2.8.6",
    "openai@6.49.0",
    "zod@4.6.7",
    "@modelcontextprotocol/sdk@1.32.2",
    "@opentelemetry/api@1.10.0",
    "@a2a-js/sdk@0.3.14",
  ],
};

const folder = process.env.TROUPE_PEERS ?? fileURLToPath(new URL(".peers", import.meta.url));
for (const [name, packages] of Object.entries(PEERS)) {
  const own = join(folder, name);
  if (existsSync(join(own, "node_modules"))) continue;
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "package.json"), '{ "private": true, "type": "module" }\n');
  // ADK has a peer dependency that no registry has.
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error"];
  execFileSync("npm", ["install", ...options, ...packages], { cwd: own, stdio: "inherit" });
}
