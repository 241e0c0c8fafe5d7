// Starts the two fakes, lets the parent run once, and ends them.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const fakes = [
  fork(here("agent.js"), ["coding", "review", "refactor"]),
  fork(here("agent.js"), ["research", "search", "summarize"]),
];
const [coding, research] = await Promise.all(
  fakes.map(async (fake) => {
    const [{ url }] = await once(fake, "message");
    return url;
  }),
);

const prompt = process.argv.slice(2).join(" ") || "the parser of our config";
const troupe = spawn(
  process.execPath,
  [here("../../dist/cli/main.js"), "run", "--config", here("troupe.config.json"), prompt],
  { stdio: "inherit", env: { ...process.env, CODING_URL: coding, RESEARCH_URL: research } },
);
[process.exitCode] = await once(troupe, "exit");
for (const fake of fakes) fake.disconnect();
