#!/usr/bin/env node
// Stands in for Claude Code: the same protocol and real calls of tools, but a script instead of a model.
import { pathToFileURL } from "node:url";
import { scriptedClaude } from "troupe/testing";

const call = (name, task) => ({ name, input: { message: `${task} {{prompt}}` } });
process.env.TROUPE_SCRIPT_JSON = JSON.stringify({
  turns: [
    [
      { say: "Two specialists can help." },
      { tools: [call("coding__review", "Review"), call("research__summarize", "Sum up")] },
      { say: "The review: {{result.0.summary}}\nThe summary: {{result.1.summary}}", when: "ok" },
      { say: "That failed: {{result.0.error.message}}", when: "error" },
    ],
  ],
});
const [, program] = scriptedClaude();
await import(pathToFileURL(program).href);
