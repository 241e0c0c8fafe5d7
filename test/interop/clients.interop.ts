import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rpc, startFaceHost } from "../a2a-face/face-host.js";
import { runClient, runGemini } from "./client.js";
import { type Program, startModel } from "./peer.js";

const SAYS = { turns: [[{ say: "The answer to {{prompt}} is 42." }]] };
const FAILS = { turns: [[{ error: { status: 500, code: "server_error", message: "down" } }]] };

describe("a2a-ai-provider 0.5.0-alpha.1", () => {
  test("reads an agent of ours as a model", async () => {
    await using face = await startFaceHost(SAYS);
    const { lines, text } = await runClient("ai-provider", face.cardUrl, "everything");
    expect(lines.map(({ text: piece }) => piece ?? "").join(""), text).toContain(
      "The answer to everything is 42.",
    );
    expect(lines.find(({ type }) => type === "finish")).toMatchObject({ finishReason: "stop" });
  });

  test("sees a failure as one", async () => {
    await using face = await startFaceHost(FAILS);
    const { lines } = await runClient("ai-provider", face.cardUrl, "everything");
    expect(lines.find(({ type }) => type === "finish")).toMatchObject({ finishReason: "error" });
  });
});

describe("@ag-ui/a2a 0.0.6", () => {
  test("finds the agent by agent.json, and shows the outcome from the final status", async () => {
    await using face = await startFaceHost(SAYS);
    const { lines, text } = await runClient("ag-ui-a2a", face.agent, "everything");
    expect(lines.map(({ text: piece }) => piece ?? "").join(""), text).toContain(
      "The answer to everything is 42.",
    );
    expect(lines.at(-1), text).toMatchObject({ type: "RUN_FINISHED" });
  });
});

describe("Gemini CLI 0.61", () => {
  let model: Program;
  beforeAll(async () => {
    model = await startModel();
  });
  afterAll(() => model.close());

  test("its model gets what our agent says, with the token that it was given", async () => {
    await using face = await startFaceHost(SAYS, {
      a2a: { auth: { mode: "bearer", tokens: { gemini: "secret-1234" } } },
    });
    const { text } = await runGemini(model.url, face.cardUrl, "everything", "secret-1234");
    expect(text).toContain("The answer to everything is 42.");
    const listed = await rpc(
      face,
      "ListTasks",
      {},
      { "a2a-version": "1.0", authorization: "Bearer secret-1234" },
    );
    expect(await listed.json()).toMatchObject({ result: { totalSize: 1 } });
  });
});
