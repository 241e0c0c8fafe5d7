import { expect, test } from "vitest";
import { TextTail } from "./text-tail.js";

test("keeps the end and says that something is missing", () => {
  const tail = new TextTail(5);
  tail.push("ab");
  expect(tail.toString()).toBe("ab");
  tail.push("cdefgh\n");
  expect(tail.toString()).toBe("…efgh");
});
