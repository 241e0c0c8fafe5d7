import { describe, expect, test } from "vitest";
import { createRedactor } from "../../wire/redact.js";
import { Veil } from "./veil.js";

const TOKEN = "tok-1234567890";
const veil = () => new Veil(createRedactor([TOKEN]));

describe("a credential that a remote says back", () => {
  test("is taken out of names and ids; the remote's own id is still known", () => {
    const own = veil();
    expect(own.signal({ type: "accepted", taskId: `t-${TOKEN}`, contextId: "c" })).toEqual({
      type: "accepted",
      taskId: "t-[redacted]",
      contextId: "c",
    });
    expect(own.real("t-[redacted]")).toBe(`t-${TOKEN}`);
    expect(own.real("c")).toBe("c");
    expect(own.signal({ type: "tool.start", toolCallId: TOKEN, name: `run ${TOKEN}` })).toEqual({
      type: "tool.start",
      toolCallId: "[redacted]",
      name: "run [redacted]",
    });
    const question = {
      prompt: TOKEN,
      schema: { properties: { [TOKEN]: { title: TOKEN } }, required: [TOKEN] },
    };
    expect(JSON.stringify(own.signal({ type: "input_required", ...question }))).not.toContain(TOKEN);
  });

  test("is taken out of a tool's result", () => {
    const result = {
      type: "tool.result",
      toolCallId: "t",
      content: `It is ${TOKEN}.`,
      isError: false,
    } as const;
    expect(veil().signal(result)).toEqual({ ...result, content: "It is [redacted]." });
  });

  test("costs a card the skill that is named by it, and nothing else", () => {
    const schema = { type: "object", properties: { q: { type: "string" } } };
    const skills = [
      { id: "ok", inputSchema: schema },
      { id: TOKEN, inputSchema: schema },
    ];
    const card = veil().card({ name: `A ${TOKEN}`, skills });
    expect(card).toEqual({ name: "A [redacted]", skills: [{ id: "ok", inputSchema: schema }] });
    expect(card.skills[0]?.inputSchema).toBe(schema);
  });
});
