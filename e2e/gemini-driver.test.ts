import { afterEach, expect, test } from "vitest";
import { gemini } from "../src/drivers/acp/presets.js";
import { trackedGroups } from "../src/drivers/process/process-group.js";
import { describeDriver } from "../src/testing/driver-conformance.js";
import type { DriverStep } from "../src/testing/driver-kit.js";
import { startGeminiServer } from "../src/testing/gemini/gemini-server.js";
import type { GeminiItem, GeminiReply } from "../src/testing/gemini/script.js";
import { realGemini } from "./real-gemini.js";

afterEach(() => {
  expect(trackedGroups()).toEqual([]);
});

/** Each call ends a reply of the model; what it says may tell of the last response. */
function repliesOf(steps: readonly DriverStep[], responses: readonly string[]): GeminiReply[] {
  const replies: GeminiItem[][] = [[]];
  let stall = false;
  for (const step of steps) {
    const content = replies.at(-1) ?? [];
    if ("say" in step)
      content.push({ type: "text", text: step.say.replace("{{result.0}}", responses[0] ?? "") });
    else if ("hang" in step) stall = true;
    else if ("tools" in step) {
      for (const { name, input = {}, id = "one" } of step.tools)
        content.push({
          type: "function_call",
          id,
          name: `mcp_a2a-subagents_${name}`,
          args: { ...Object(input) },
        });
      replies.push([]);
    } else if ("ask" in step) {
      const { command, output } = step.ask;
      const args = { command: `${command} && echo ${output}` };
      content.push({ type: "function_call", name: "run_shell_command", args });
      replies.push([]);
    }
  }
  return replies.map((content, index) => ({ content, stall: stall && index === replies.length - 1 }));
}

describeDriver(
  {
    name: "gemini",
    play: async ({ steps }) => {
      const api = await startGeminiServer({
        script: ({ responses, replies }) => {
          const [reply = { content: [] }] = repliesOf(
            steps,
            responses.map(({ text }) => text),
          ).slice(replies);
          return reply;
        },
      });
      const program = await realGemini(api.url);
      // The stage gives it a home of its own.
      const { HOME: _, ...env } = program.env;
      return {
        driver: gemini(program.options),
        env,
        close: async () => {
          await api.close();
          await program.close();
        },
      };
    },
    missing: () => gemini({ executable: "/no/such/gemini" }),
  },
  test,
  /says what it is|in pieces|MCP tool is called|side of the server|trusted|person is asked|while a tool|credential/,
);
