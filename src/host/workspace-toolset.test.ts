import { describe, expect, it } from "vitest";
import { ObservedToolset } from "../bridges/mcp/observed-toolset.js";
import type { McpCall, McpTask, McpTasks, McpToolset } from "../bridges/mcp/tool.js";
import { TroupeError } from "../core/errors.js";
import { SessionToolset, WorkspaceToolset, type WorkspaceView } from "./workspace-toolset.js";

const call = (tool: string, input: unknown = {}): McpCall => ({
  tool,
  input,
  cancelled: new AbortController().signal,
  canAsk: false,
  takesTask: false,
});

/** Tools that answer with their own name, and know one task. */
function toolset(name: string, line = `${name}: working`): McpToolset & { readonly tasks: McpTasks } {
  const task: McpTask = {
    taskId: `del-${name}`,
    status: "working",
    statusMessage: name,
    createdAt: "",
    lastUpdatedAt: "",
  };
  return {
    tools: () => [],
    call: async ({ input }) => ({
      structured: { by: name, delegation_id: "d", ...Object(input) },
      isError: false,
    }),
    progress: () => line,
    tasks: {
      get: (id) => (id === task.taskId ? task : undefined),
      cancel: (id) => id === task.taskId,
      update: async (id) => id === task.taskId,
    },
  };
}

const other = toolset("other");
const view = (watchUrl?: string): WorkspaceView => ({
  elsewhere: (id) => (id === "del-other" ? other : undefined),
  inherited: async (id) => (id === "del-inherited" ? other : undefined),
  recorded: async (id) => {
    if (id === "del-broken") throw new Error("the journal is gone");
    return id === "del-old" ? ({ delegation_id: id, status: "failed" } as never) : undefined;
  },
  watchUrl: () => watchUrl,
});

describe("the tools of an external run", () => {
  const tools = new WorkspaceToolset(toolset("own"), view());

  it.each([
    ["del-own", { by: "own" }],
    ["del-other", { by: "other" }],
    ["del-inherited", { by: "other" }],
    ["del-old", { status: "failed", delegation_id: "del-old" }],
    ["del-broken", { by: "own" }],
  ])("find %s where it is", async (delegation_id, expected) => {
    expect(await tools.call(call("task_result", { delegation_id }))).toMatchObject({ structured: expected });
  });

  it("a tool that is none of a handle's is the run's own, whatever its arguments are called", async () => {
    expect(await tools.call(call("own__skill", { delegation_id: "del-other" }))).toMatchObject({
      structured: { by: "own" },
    });
  });

  it("tasks of a client that was started again are found as well", async () => {
    expect(tools.tasks.get("del-other")?.statusMessage).toBe("other");
    expect(tools.tasks.get("del-own")?.statusMessage).toBe("own");
    expect([tools.tasks.cancel("del-other"), tools.tasks.cancel("del-none")]).toEqual([true, false]);
    expect(await tools.tasks.update("del-other", {})).toBe(true);
  });

  it("says where to look with what can be looked at, and nothing with a refusal", async () => {
    const shown = new WorkspaceToolset(toolset("own"), view("http://127.0.0.1:1/#thread=t"));
    expect(await shown.call(call("x"))).toMatchObject({
      structured: { watch_url: "http://127.0.0.1:1/#thread=t" },
    });
    const refused = new WorkspaceToolset(
      { ...toolset("own"), call: async () => ({ structured: { status: "failed" }, isError: true }) },
      view("http://127.0.0.1:1/"),
    );
    expect(await refused.call(call("x"))).toEqual({ structured: { status: "failed" }, isError: true });
  });
});

describe("the tools of a session", () => {
  const session = (options: Partial<ConstructorParameters<typeof SessionToolset>[0]> = {}) =>
    new SessionToolset({
      tools: () => [],
      enter: async () => toolset("own"),
      entered: () => undefined,
      workspace: view("http://127.0.0.1:4100/#thread=thread-0123"),
      ...options,
    });

  it("the first line of a call says where to look, whole and in 80 characters; the next how it stands", () => {
    const entered = toolset("own", "research: working");
    const tools = session({ entered: () => entered });
    const one = call("delegate_to_agent");
    expect([tools.progress(one), tools.progress(one)]).toEqual([
      "research: working. Watch: http://127.0.0.1:4100/#thread=thread-0123",
      "research: working",
    ]);
    const long = `http://127.0.0.1:4100/#thread=${"t".repeat(90)}`;
    expect(session({ workspace: view(long) }).progress(call("x"))).toBe("Watch: http://127.0.0.1:4100/");
    expect(session({ workspace: view() }).progress(call("x"))).toBe("x: accepted");
    expect(session().progress(call("task_result"))).toBe("task_result: accepted");
  });

  it("finds tasks of others before its own run has begun", () => {
    expect(session().tasks.get("del-other")?.statusMessage).toBe("other");
    expect(session().tasks.get("del-own")).toBeUndefined();
  });

  it("a run that cannot begin is an answer", async () => {
    const closed = session({
      enter: () =>
        Promise.reject(new TroupeError("host_closed", "The host is closing.", { retryable: true })),
    });
    expect(await closed.call(call("x"))).toEqual({
      structured: {
        status: "failed",
        error: { code: "host_closed", message: "The host is closing.", retryable: true },
      },
      isError: true,
    });
  });
});

it("a client that sends no id of its calls is told how they stand", async () => {
  const lines: (string | undefined)[] = [];
  const own = {
    ...toolset("own"),
    progress: ({ callId }: McpCall) => {
      lines.push(callId);
      return "";
    },
  };
  const observed = new ObservedToolset(
    own,
    () => undefined,
    () => "call-1",
  );
  const one = call("x");
  observed.progress(one);
  await observed.call(one);
  observed.progress(one);
  expect(lines).toEqual([undefined, "call-1"]);
});
