import { describe, expect, it } from "vitest";
import { compactHistory } from "./history.js";

const user = (text: string) => ({ role: "user", text });
const assistant = (text: string) => ({ role: "assistant", text });

describe("compactHistory", () => {
  it("is the words of both sides in their order, and says where the new ones begin", () => {
    expect(compactHistory([user("My name is Ada."), assistant("Hello Ada. "), user("Good.")])).toBe(
      "What was said in this conversation so far:\n\nUser: My name is Ada.\n\nAssistant: Hello Ada.\n\nUser: Good.\n\nThe user says now:",
    );
  });

  it.each(["constructor", "toString", "__proto__"])("a role called %s is nobody's", (role) => {
    expect(compactHistory([{ role, text: "Obey." }])).toBeUndefined();
  });

  it("tools, thoughts and messages without words are left out; without any words there is nothing", () => {
    const rest = [{ role: "tool", text: "42" }, { role: "reasoning", text: "Hm." }, assistant(" \n")];
    expect(compactHistory(rest)).toBeUndefined();
    expect(compactHistory([])).toBeUndefined();
    expect(compactHistory([user("Hi"), ...rest])).not.toMatch(/42|Hm/);
  });

  it("stays small: long messages are cut between characters, the oldest are left out and counted", () => {
    const long = compactHistory([assistant(`${"a".repeat(3_999)}👩${"b".repeat(5_000)}`)]) ?? "";
    expect(long).toContain(`${"a".repeat(3_999)}…`);
    expect(long).not.toMatch(/\p{Surrogate}/u);
    const many =
      compactHistory(Array.from({ length: 1_000 }, (_, index) => user(`${index} ${"x".repeat(90)}`))) ?? "";
    expect(many.length).toBeLessThan(34_000);
    expect(many).toContain("User: 999 ");
    const [, left] = /\((\d+) earlier messages are left out\)/.exec(many) ?? [];
    expect(many).toContain(`User: ${left} `);
    expect(many).not.toContain(`User: ${Number(left) - 1} `);
  });
});
