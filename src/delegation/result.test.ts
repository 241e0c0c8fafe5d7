import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { artifactOf } from "../../test/support/delegation-inputs.js";
import { resolvePolicy } from "./policy.js";
import { buildResult, type ResultParts } from "./result.js";

const PARTS: ResultParts = {
  delegationId: "del-1",
  agentKey: "research",
  protocol: "a2a",
  remoteTaskId: "task-1",
  remoteContextId: "ctx-1",
  status: "completed",
  texts: ["Done."],
  artifacts: [],
};
const ERROR = { code: "remote_failed", message: "no", retryable: false, remoteStatus: "failed" } as const;
const sizeOf = (result: unknown) => Buffer.byteLength(JSON.stringify(result));
const artifacts = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ artifact: artifactOf(`a${index}`) }));

describe("response modes", () => {
  const json = (name: string, data: unknown) => ({ artifact: artifactOf(name), data });

  it("structured: JSON files are in the result as far as there is room, the others stay references", () => {
    const files = [
      json("a", { rows: [1, 2] }),
      json("big", "x".repeat(3_000)),
      json("b", [true]),
      { artifact: artifactOf("c") },
    ];
    const parts = { ...PARTS, responseMode: "structured", artifacts: files } as const;
    const result = buildResult(parts, 2_048);
    expect(sizeOf(result)).toBeLessThanOrEqual(2_048);
    expect(result.artifacts?.map(({ id, data }) => [id, data])).toEqual([
      ["a", { rows: [1, 2] }],
      ["big", undefined],
      ["b", [true]],
      ["c", undefined],
    ]);
    expect(result.artifacts?.every(({ uri }) => uri.startsWith("host://"))).toBe(true);
    expect(buildResult({ ...parts, responseMode: "artifact" }, 8_192).artifacts?.[0]).not.toHaveProperty(
      "data",
    );
  });

  it("structured: the summary does not give way to data", () => {
    const parts = { ...PARTS, texts: ["y".repeat(1_500)], artifacts: [json("a", "x".repeat(500))] };
    const result = buildResult({ ...parts, responseMode: "structured" }, 2_048);
    expect([result.summary, result.artifacts?.[0]?.data]).toEqual(["y".repeat(1_500), undefined]);
  });

  it("compact: ids, status, summary and what went wrong, and a word that files were left out", () => {
    const parts = { ...PARTS, responseMode: "compact", texts: ["Let me see.", "Done."] } as const;
    const bare = {
      delegation_id: "del-1",
      agent: "research",
      status: "completed",
      summary: "Done.",
      remote_protocol: "a2a",
      remote_task_id: "task-1",
      remote_context_id: "ctx-1",
    };
    expect(buildResult({ ...parts, texts: ["Done."] }, 8_192)).toEqual(bare);
    expect(buildResult({ ...parts, artifacts: artifacts(2) }, 8_192)).toMatchObject({
      ...bare,
      truncated: true,
    });
    expect(buildResult({ ...parts, error: ERROR }, 8_192).error?.code).toBe("remote_failed");
  });

  it("raw: the final text is whole up to the hard limit, and never beyond it", () => {
    const { maxResultBytes, responseMode } = resolvePolicy({ responseMode: "raw", maxResultBytes: 2_048 });
    const raw = (length: number) =>
      buildResult({ ...PARTS, responseMode, texts: ["z".repeat(length)] }, maxResultBytes);
    expect(raw(39_000)).toMatchObject({ summary: "z".repeat(39_000) });
    expect(raw(39_000)).not.toHaveProperty("truncated");
    expect(sizeOf(raw(5_000_000))).toBeLessThanOrEqual(40_960);
  });

  it("cases 093, 095: each keeps to its limit with 5 MB of text and of data", () => {
    for (const responseMode of ["artifact", "structured", "compact", "raw"] as const) {
      const policy = resolvePolicy({ responseMode });
      const texts = ["\u0001ä😀".repeat(700_000)];
      const files = Array.from({ length: 60 }, (_, index) =>
        json(`f${index}`, { text: "x".repeat(100_000) }),
      );
      const result = buildResult({ ...PARTS, responseMode, texts, artifacts: files }, policy.maxResultBytes);
      expect(sizeOf(result), responseMode).toBeLessThanOrEqual(policy.maxResultBytes);
      expect(Object.keys(result).slice(0, 4)).toEqual(["delegation_id", "agent", "status", "summary"]);
    }
  });
});

describe("a delegation's result", () => {
  it("case 112: has every id, the summary first, and nothing that a person alone wants to see", () => {
    const result = buildResult({ ...PARTS, texts: ["Let me see.", "Done."], artifacts: artifacts(1) }, 8_192);
    expect(result).toEqual({
      delegation_id: "del-1",
      agent: "research",
      status: "completed",
      summary: "Done.",
      remote_protocol: "a2a",
      remote_task_id: "task-1",
      remote_context_id: "ctx-1",
      artifacts: [
        {
          id: "a0",
          name: "a0.txt",
          mime_type: "text/plain",
          uri: "host://delegations/del-1/artifacts/a0.txt",
          size: 10,
        },
      ],
      messages: [{ role: "assistant", text: "Let me see." }],
      raw_task: { provider: "a2a", task_id: "task-1" },
    });
    expect(Object.keys(result).slice(0, 4)).toEqual(["delegation_id", "agent", "status", "summary"]);
  });

  it("says null for ids that the remote never gave", () => {
    const { remoteTaskId: _task, remoteContextId: _context, ...rest } = PARTS;
    expect(buildResult(rest, 8_192)).toMatchObject({
      remote_task_id: null,
      remote_context_id: null,
      raw_task: { task_id: null },
    });
  });

  it("case 091: a transcript of 5 MB becomes its summary, and says that it was cut", () => {
    const result = buildResult({ ...PARTS, texts: ["x".repeat(5_000_000)] }, 8_192);
    expect(sizeOf(result)).toBeLessThanOrEqual(8_192);
    expect(sizeOf(result)).toBeGreaterThan(8_000);
    expect(result.truncated).toBe(true);
    expect(result.summary).toMatch(/^x+… \[\d+ characters cut\]$/);
    const [, missing = "0"] = /\[(\d+) characters cut\]/.exec(result.summary) ?? [];
    expect(Number(missing) + (result.summary.match(/x/g)?.length ?? 0)).toBe(5_000_000);
  });

  it("what was said before the summary takes 1 KB at most, the newest of it", () => {
    const texts = [
      ...Array.from({ length: 50 }, (_, index) => `Message ${index}: ${"y".repeat(100)}`),
      "Done.",
    ];
    const result = buildResult({ ...PARTS, texts }, 40_960);
    expect(sizeOf(result.messages)).toBeLessThanOrEqual(1_024);
    expect(result.messages?.at(-1)?.text).toBe(texts[49]);
    expect(result.messages?.length).toBeGreaterThan(3);
    expect(result).toMatchObject({ truncated: true, summary: "Done." });
    expect(buildResult({ ...PARTS, texts: ["Short.", "Done."] }, 8_192)).not.toHaveProperty("truncated");
  });

  it("a summary that is an answer in itself goes without what was said before, and that is no loss to tell", () => {
    const result = buildResult({ ...PARTS, texts: ["Looking into it.", "The answer. ".repeat(10)] }, 8_192);
    expect(result.messages).toEqual([]);
    expect(result).not.toHaveProperty("truncated");
  });

  it("references to artifacts give way after texts, the last ones first, and never take more than half", () => {
    const result = buildResult({ ...PARTS, texts: ["z".repeat(100_000)], artifacts: artifacts(500) }, 8_192);
    expect(sizeOf(result)).toBeLessThanOrEqual(8_192);
    expect(result.artifacts?.length).toBeGreaterThan(10);
    expect(result.artifacts?.map(({ id }) => id)).toEqual(
      artifacts(result.artifacts?.length ?? 0).map(({ artifact }) => artifact.id),
    );
    expect(result.summary.length).toBeGreaterThan(3_000);
  });

  it("an error always stays, however little room there is", () => {
    const error = { ...ERROR, message: "é\u0000".repeat(5_000), remoteStatus: "\u0001".repeat(500) };
    const long = {
      remoteTaskId: "t".repeat(9_000),
      remoteContextId: "ü".repeat(9_000),
      agentKey: "k".repeat(64),
    };
    const result = buildResult(
      { ...PARTS, ...long, status: "failed", texts: ["x".repeat(9_000)], artifacts: artifacts(60), error },
      2_048,
    );
    expect(sizeOf(result)).toBeLessThanOrEqual(2_048);
    expect(result.error).toMatchObject({ code: "remote_failed", retryable: false });
    expect(result.error?.message).toMatch(/^é/);
    expect(result.delegation_id).toBe("del-1");
    expect(result.remote_task_id).toMatch(/^t+… \[\d+ characters cut\]$/);
  });

  it("a refused artifact is named with its reason", () => {
    const error = {
      code: "artifact_too_large",
      message: "Larger than the 10 bytes that the host keeps.",
    } as const;
    expect(
      buildResult({ ...PARTS, artifacts: [{ artifact: artifactOf("a"), error }] }, 8_192).artifacts?.[0],
    ).toMatchObject({ id: "a", error });
  });

  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc
      .tuple(fc.string({ unit: "binary", minLength: 1, maxLength: 6 }), fc.nat(3_000))
      .map(([unit, count]) => unit.repeat(count)),
    fc.constantFrom(
      "\ud83d",
      "\ude00\ud83d",
      "😀".repeat(2_000),
      '"\\'.repeat(3_000),
      "\u0000".repeat(3_000),
    ),
  );
  const parts: fc.Arbitrary<ResultParts> = fc
    .record({
      texts: fc.array(text, { maxLength: 6 }),
      count: fc.nat(80),
      remoteTaskId: fc.option(text, { nil: undefined }),
      remoteContextId: fc.option(text, { nil: undefined }),
      error: fc.option(
        fc.record({
          code: fc.constant("remote_failed" as const),
          message: text,
          retryable: fc.boolean(),
          remoteStatus: text,
        }),
        { nil: undefined },
      ),
    })
    .map(({ count, remoteTaskId, remoteContextId, error, texts }) => ({
      ...PARTS,
      texts,
      artifacts: artifacts(count),
      ...(remoteTaskId === undefined ? {} : { remoteTaskId }),
      ...(remoteContextId === undefined ? {} : { remoteContextId }),
      ...(error === undefined ? {} : { error, status: "failed" as const }),
    }));

  it("property: valid JSON of whole characters within the limit, with ids and the error, whatever the remote said", () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 2_048, max: 40_960 }), (input, limit) => {
        const result = buildResult(input, limit);
        const json = JSON.stringify(result);
        expect(Buffer.byteLength(json)).toBeLessThanOrEqual(limit);
        expect(JSON.parse(json)).toEqual(result);
        // A half of a character is written as an escape by JSON.stringify.
        expect(json).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/i);
        expect(Buffer.from(json).toString()).toBe(json);
        expect(result).toMatchObject({ delegation_id: "del-1", agent: "research", status: input.status });
        expect(result.error === undefined).toBe(input.error === undefined);
        expect(result.remote_task_id === null).toBe(input.remoteTaskId === undefined);
        if (result.truncated === undefined) {
          expect(result.artifacts).toHaveLength(input.artifacts.length);
          const alone = (input.texts.at(-1) ?? "").length >= 100;
          expect(result.messages).toHaveLength(alone ? 0 : Math.max(0, input.texts.length - 1));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("the host's limit itself has limits", () => {
    expect(resolvePolicy({ maxResultBytes: 10_000_000 }).maxResultBytes).toBe(40_960);
    expect(resolvePolicy({ maxResultBytes: 1 }).maxResultBytes).toBe(2_048);
    expect(resolvePolicy().maxResultBytes).toBe(8_192);
  });
});
