#!/usr/bin/env node
import { runCli } from "./program.js";

// A reader that leaves, as `| head` does, is no failure of ours; what it means is each command's matter.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

process.exitCode = await runCli(process.argv.slice(2));
