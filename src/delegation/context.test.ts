import { describe, expect, it } from "vitest";
import { ContextBook } from "./context.js";

const run = (runId: string, thread = "/t") => ({ runId, thread });

describe("which remote conversation a delegation goes on with", () => {
  it("case 073: none by default, whatever was before", () => {
    const book = new ContextBook();
    book.remember("ephemeral", run("1"), "research", "ctx-1");
    expect(book.find("ephemeral", run("1"), "research")).toBeUndefined();
  });

  it("the thread's, for this agent only", () => {
    const book = new ContextBook();
    book.remember("sticky_per_parent_thread_agent", run("1"), "research", "ctx-1");
    expect(book.find("sticky_per_parent_thread_agent", run("2"), "research")).toBe("ctx-1");
    expect(book.find("sticky_per_parent_thread_agent", run("2", "tenant/t"), "research")).toBeUndefined();
    expect(book.find("sticky_per_parent_thread_agent", run("2"), "painter")).toBeUndefined();
    book.forget("sticky_per_parent_thread_agent", run("3"), "research");
    expect(book.find("sticky_per_parent_thread_agent", run("2"), "research")).toBeUndefined();
  });

  it("the run's, and not the next one's", () => {
    const book = new ContextBook();
    book.remember("sticky_per_run_agent", run("1"), "research", "ctx-1");
    expect(book.find("sticky_per_run_agent", run("1"), "research")).toBe("ctx-1");
    expect(book.find("sticky_per_run_agent", run("2"), "research")).toBeUndefined();
  });

  it("forgets those that rest longest", () => {
    const book = new ContextBook();
    for (let index = 0; index <= 10_000; index++) {
      book.remember("sticky_per_run_agent", run(String(index)), "research", "ctx");
    }
    expect(book.find("sticky_per_run_agent", run("0"), "research")).toBeUndefined();
    expect(book.find("sticky_per_run_agent", run("10000"), "research")).toBe("ctx");
  });
});
