// A program with a host whose agent runs once; it prints which files of OpenTelemetry were loaded by then.

import { createRequire } from "node:module";
import { createAgent, createHost } from "../../dist/index.js";

const telemetry = [];
if (process.argv[2] !== "off") {
  const { functionSink, openTelemetry, sideband } = await import("../../dist/telemetry.js");
  telemetry.push(process.argv[2] === "sideband" ? sideband(functionSink(() => {})) : openTelemetry());
}
const capabilities = { resume: true, fork: true, approvals: true, mcpHttp: true, mcpStdio: true };
const driver = {
  describe: () => ({ name: "quick", capabilities }),
  start: async () => ({ status: "finished" }),
};
const host = await createHost({ agents: { quick: createAgent(driver) }, telemetry });
await host.run("quick", "go").run.result;
await host.close();
const files = Object.keys(createRequire(import.meta.url).cache);
console.log(JSON.stringify(files.filter((file) => file.includes("@opentelemetry"))));
