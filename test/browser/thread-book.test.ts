import { describe, expect, it } from "vitest";
import {
  formatAgo,
  type KnownThread,
  MOST_KNOWN,
  mergeThreads,
  noteThread,
  readKnown,
  writeKnown,
} from "../../console/src/threads/thread-book.js";

const listing = (threadId: string, startedAt: number, title = "") => ({
  threadId,
  title,
  agent: "claude",
  status: "running" as const,
  startedAt,
  detached: 0,
});

describe("the threads that a browser remembers", () => {
  it("keeps each once, the latest first, with its title on one line, and not for ever", () => {
    let known: readonly KnownThread[] = [];
    for (let time = 0; time < MOST_KNOWN + 10; time++)
      known = noteThread(known, { threadId: `t${time}`, title: "x", time });
    known = noteThread(known, { threadId: "t30", title: " two\n  lines ", time: 1_000 });
    expect(known).toHaveLength(MOST_KNOWN);
    expect(known[0]).toEqual({ threadId: "t30", title: "two lines", time: 1_000 });
    expect(known.filter(({ threadId }) => threadId === "t30")).toHaveLength(1);
    expect(known.some(({ threadId }) => threadId === "t5")).toBe(false);
    expect(readKnown(writeKnown(known))).toEqual(known);
  });

  it.each([undefined, "", "{", "null", "{}", '[null,1,{"threadId":""},{"threadId":"a"}]'])(
    "reads %j as none",
    (text) => expect(readKnown(text)).toEqual([]),
  );

  it("puts the host's list with them: each thread once, by the later time, under the title seen here", () => {
    const known = [
      { threadId: "a", title: "Mine", time: 5 },
      { threadId: "b", title: "Old", time: 1 },
    ];
    const merged = mergeThreads(known, [listing("a", 9, "Theirs"), listing("c", 7, "New"), listing("b", 0)]);
    expect(merged.map(({ threadId, title, time }) => [threadId, title, time])).toEqual([
      ["a", "Mine", 9],
      ["c", "New", 7],
      ["b", "Old", 1],
    ]);
    expect(merged[0]?.listing?.status).toBe("running");
  });

  it.each([
    [-5, "now"],
    [59_999, "now"],
    [60_000, "1 min"],
    [3_600_000, "1 h"],
    [50 * 3_600_000, "2 d"],
  ])("%i ms ago is %s", (milliseconds, words) => expect(formatAgo(milliseconds)).toBe(words));
});
