import { expect, test } from "vitest";
import { Conversation } from "./conversation.js";
import { Threads } from "./threads.js";

test("what was said, called and answered stands in the order in which it began", () => {
  const conversation = new Conversation();
  conversation.ask("q", "Go.");
  conversation.say("a", "One");
  conversation.call("c", "add", "a");
  conversation.argue("c", '{"x":');
  conversation.argue("c", "1}");
  conversation.result("a", "c", "2");
  conversation.say("b", "Two");
  expect(conversation.messages).toEqual([
    { id: "q", role: "user", content: "Go." },
    {
      id: "a",
      role: "assistant",
      content: "One",
      toolCalls: [{ id: "c", type: "function", function: { name: "add", arguments: '{"x":1}' } }],
    },
    // The server gave the result the id of the message that called.
    { id: "c-result", role: "tool", content: "2", toolCallId: "c" },
    { id: "b", role: "assistant", content: "Two" },
  ]);
  expect(new Conversation(conversation.messages).messages).toEqual(conversation.messages);
});

test("the server's own history counts, without what its subagents said and did", () => {
  const conversation = new Conversation();
  conversation.say("old", "gone");
  conversation.replace([
    { id: "q", role: "user", content: "Go.", name: "kept" },
    { id: "s", role: "assistant", content: "nested", subagentRunId: "x" },
    { id: "p", role: "activity", content: {} },
    { role: "assistant", content: "without an id" },
    7,
  ]);
  expect(conversation.messages).toEqual([{ id: "q", role: "user", content: "Go.", name: "kept" }]);
});

test("a long thread loses its oldest turns, whole", () => {
  const conversation = new Conversation();
  for (let turn = 1; turn <= 3; turn++) {
    conversation.ask(`q${turn}`, "x".repeat(100));
    conversation.say(`a${turn}`, "y".repeat(100));
  }
  conversation.trim(300);
  expect(conversation.messages.map(({ id }) => id)).toEqual(["q3", "a3"]);
  conversation.trim(10);
  expect(conversation.messages).toEqual([]);
});

test("only so many threads are remembered", () => {
  const threads = new Threads();
  const conversation = new Conversation();
  conversation.ask("q", "Go.");
  for (let index = 0; index <= 50; index++) threads.keep(`t${index}`, conversation, { index });
  expect(threads.recall("t0")).toEqual({ messages: [], state: {} });
  expect(threads.recall("t50")).toEqual({ messages: conversation.messages, state: { index: 50 } });
});
