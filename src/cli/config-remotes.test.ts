import { expect, test } from "vitest";
import { subAgentSchema } from "../config/sub-agent-schema.js";
import { a2aOptionsOf, configuredRemote } from "./config-remotes.js";

const remoteOf = (entry: object) => configuredRemote(subAgentSchema.parse(entry));

test("each protocol's entries become remotes of theirs", () => {
  expect(remoteOf({ name: "a", agentCardUrl: "https://a.example/" })).toMatchObject({
    key: "a",
    protocol: "a2a",
  });
  const painter = {
    name: "b",
    url: "https://b.example/run",
    description: "Paints.",
    auth: { mode: "api_key", key: "k" },
  };
  expect(remoteOf(painter)).toMatchObject({ key: "b", protocol: "agui" });
  const local = remoteOf({ name: "c", agent: "claude" });
  if (typeof local !== "function") throw new Error("A local one is made by its host.");
  const host = {
    describe: () => ({ name: "Claude", driver: "claude" }),
    start: () => {
      throw new Error("not here");
    },
  };
  expect(local(host)).toMatchObject({ key: "c", protocol: "local" });
});

test("what an entry says of an agent reaches it", async () => {
  const remote = remoteOf({
    name: "b",
    url: "https://b.example/run",
    title: "Painter",
    description: "Paints.",
  });
  if (typeof remote === "function") throw new Error("It is no local one.");
  expect(await remote.describe(new AbortController().signal)).toMatchObject({
    name: "Painter",
    description: "Paints.",
  });
});

test.each(["key", "token"])("a key may be called %s", (name) => {
  const auth = { mode: "api_key", [name]: "k", headerName: "x-key" };
  const entry = subAgentSchema.parse({ name: "a", agentCardUrl: "https://a.example/", auth });
  expect(a2aOptionsOf(entry).auth).toEqual({ mode: "api_key", key: "k", headerName: "x-key" });
});
