import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ArtifactCollector, createMemoryArtifactStore } from "./artifacts.js";
import { DEFAULT_POLICY, type DelegationPolicy } from "./policy.js";
import type { RemoteArtifactChunk } from "./remote.js";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const chunk = (text: string, more: Partial<RemoteArtifactChunk> = {}): RemoteArtifactChunk => ({
  id: "a",
  name: "report.md",
  mimeType: "text/markdown",
  mode: "append",
  bytes: bytesOf(text),
  last: false,
  ...more,
});

function setup(policy: Partial<DelegationPolicy> = {}) {
  const store = createMemoryArtifactStore();
  const collector = new ArtifactCollector("del-1", { ...DEFAULT_POLICY, ...policy }, store);
  const stored = async (artifact: string) => {
    const found = await store.get("del-1", artifact);
    return found === undefined ? undefined : new TextDecoder().decode(found.bytes);
  };
  return { collector, store, stored };
}

describe("assembling", () => {
  it("case 048: appended chunks are joined with nothing in between, and published with the last", async () => {
    const { collector, stored } = setup();
    expect(await collector.add(chunk("Hel"))).toBeUndefined();
    const collected = await collector.add(chunk("lo", { last: true }));
    expect(await stored("a")).toBe("Hello");
    expect(collected).toEqual({
      artifact: {
        id: "a",
        name: "report.md",
        mimeType: "text/markdown",
        uri: "host://delegations/del-1/artifacts/report.md",
        size: 5,
        sha256: createHash("sha256").update("Hello").digest("hex"),
        preview: "Hello",
      },
    });
    expect(await collector.finish()).toEqual([]);
  });

  it("an append to an id that is not known begins it", async () => {
    const { collector, stored } = setup();
    await collector.add(chunk("only", { id: "new", last: true }));
    expect(await stored("new")).toBe("only");
  });

  it("case 046: a replacing chunk replaces, and is published at once", async () => {
    const { collector, stored } = setup();
    await collector.add(chunk("old"));
    expect(await collector.add(chunk("new", { mode: "replace" }))).toMatchObject({ artifact: { size: 3 } });
    expect(await stored("a")).toBe("new");
    await collector.add(chunk("er", { last: true }));
    expect(await stored("a")).toBe("newer");
  });

  it("what never got a last chunk is published at the end, once", async () => {
    const { collector, stored } = setup();
    await collector.add(chunk("Hel"));
    await collector.add(chunk("lo"));
    expect(await stored("a")).toBeUndefined();
    expect(await collector.finish()).toMatchObject([{ artifact: { id: "a", size: 5 } }]);
    expect(await stored("a")).toBe("Hello");
    expect(await collector.finish()).toEqual([]);
  });

  it("more chunks after the last make a new version under the same name", async () => {
    const { collector } = setup();
    await collector.add(chunk("1", { last: true }));
    await collector.add(chunk("2"));
    expect(await collector.finish()).toMatchObject([{ artifact: { name: "report.md", size: 2 } }]);
  });

  it("property: however it is cut, it is the same artifact", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        fc.boolean(),
        async (bytes, cuts, last) => {
          const { collector, store } = setup();
          const places = [
            0,
            ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
            bytes.length,
          ];
          for (const [index, from] of places.slice(0, -1).entries())
            await collector.add(
              chunk("", {
                bytes: bytes.subarray(from, places[index + 1]),
                last: last && index === places.length - 2,
              }),
            );
          await collector.finish();
          expect(Buffer.from((await store.get("del-1", "a"))?.bytes ?? [])).toEqual(Buffer.from(bytes));
        },
      ),
    );
  });
});

describe("limits hold for what has accumulated, before anything is published", () => {
  it("size: refused when it is passed, told once, nothing is kept", async () => {
    const { collector, stored } = setup({ maxArtifactBytes: 10 });
    expect(await collector.add(chunk("12345678"))).toBeUndefined();
    expect(await collector.add(chunk("90"))).toBeUndefined();
    expect(await collector.add(chunk("x"))).toMatchObject({
      artifact: { size: 11 },
      error: { code: "artifact_too_large" },
    });
    expect(await collector.add(chunk("y", { last: true }))).toBeUndefined();
    expect(await collector.finish()).toEqual([]);
    expect(await stored("a")).toBeUndefined();
  });

  it("number: the first beyond it is told, the others are not: a remote must not flood the journal", async () => {
    const { collector } = setup({ maxArtifacts: 2 });
    const told = [];
    for (let index = 0; index < 1_000; index++) {
      const collected = await collector.add(chunk("x", { id: `a${index}`, last: true }));
      if (collected !== undefined) told.push(collected.error?.code ?? "kept");
    }
    expect(told).toEqual(["kept", "kept", "policy_denied"]);
    // Those that were there before still grow.
    expect(await collector.add(chunk("y", { id: "a0", last: true }))).toMatchObject({
      artifact: { size: 2 },
    });
  });

  it("policy: none at all", async () => {
    const { collector, stored } = setup({ allowRemoteArtifacts: false });
    expect(await collector.add(chunk("x", { last: true }))).toMatchObject({
      error: { code: "policy_denied" },
    });
    expect(await stored("a")).toBeUndefined();
  });
});

describe("names are the host's, not the remote's", () => {
  const nameOf = async (name: string | undefined) => {
    const { collector } = setup();
    const { name: _name, ...rest } = chunk("x", { last: true });
    const collected = await collector.add(name === undefined ? rest : { ...rest, name });
    return { name: collected?.artifact.name, uri: collected?.artifact.uri };
  };

  it.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\Windows\\win.ini", "win.ini"],
    ["a/b/", "artifact-1"],
    ["..", "artifact-1"],
    [".bashrc", "bashrc"],
    ["evil\u0000\r\nname\u001b[31m.txt", "evilname[31m.txt"],
    ["report\u202etxt.exe", "reporttxt.exe"],
    ["  spaced.md ", "spaced.md"],
    ["", "artifact-1"],
    [undefined, "artifact-1"],
    ["\ud800half.txt", "half.txt"],
    ["x".repeat(300), "x".repeat(200)],
    [`${"x".repeat(199)}😀.txt`, "x".repeat(199)],
    ["Bericht für Ada.md", "Bericht für Ada.md"],
  ])("%j is %j", async (wanted, name) => {
    const made = await nameOf(wanted);
    expect(made).toEqual({ name, uri: `host://delegations/del-1/artifacts/${encodeURIComponent(name)}` });
  });

  it("two artifacts of one name get two, which both can be asked for", async () => {
    const { collector, stored } = setup();
    const names = [];
    for (const id of ["1", "2", "3"])
      names.push((await collector.add(chunk(id, { id, last: true })))?.artifact.name);
    expect(names).toEqual(["report.md", "report-2.md", "report-3.md"]);
    expect(await stored("report-2.md")).toBe("2");
    const { collector: other } = setup();
    const plain = [];
    for (const id of ["1", "2"])
      plain.push((await other.add(chunk("", { id, name: "README", last: true })))?.artifact.name);
    expect(plain).toEqual(["README", "README-2"]);
  });

  it("property: whatever the name, there is no path, control character or half character in it, and its URI can be built", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", maxLength: 260 }),
        fc.string({ maxLength: 5 }),
        async (name, tail) => {
          const { name: made, uri } = await nameOf(`${name}\ud83d${tail}`);
          expect(made).toMatch(/^[^/\\]{1,200}$/);
          expect(made).not.toMatch(/[\p{Cc}\p{Surrogate}]/u);
          expect(made).not.toMatch(/^\./);
          expect(decodeURIComponent(uri?.split("/").at(-1) ?? "")).toBe(made);
        },
      ),
    );
  });

  it.each([
    ["text/markdown", "text/markdown"],
    ["text/plain; charset=utf-8", "text/plain"],
    ["text/html\r\nX-Evil: 1", "application/octet-stream"],
    ["nonsense", "application/octet-stream"],
    [undefined, "application/octet-stream"],
  ])("media type %j is %j", async (mimeType, expected) => {
    const { collector } = setup();
    const { mimeType: _mimeType, ...rest } = chunk("x", { last: true });
    const collected = await collector.add(mimeType === undefined ? rest : { ...rest, mimeType });
    expect(collected?.artifact.mimeType).toBe(expected);
  });
});

describe("previews", () => {
  const previewOf = async (text: string, mimeType = "text/plain") =>
    (await setup().collector.add(chunk(text, { mimeType, last: true })))?.artifact.preview;

  it("are the first 2 KB of text, cut at a character", async () => {
    expect(await previewOf("x".repeat(10_000))).toBe("x".repeat(2_048));
    expect(await previewOf(`${"x".repeat(2_047)}é`)).toBe("x".repeat(2_047));
    expect(await previewOf(`${"x".repeat(2_045)}😀`)).toBe("x".repeat(2_045));
    expect(await previewOf("é".repeat(2_000))).toBe("é".repeat(1_024));
  });

  it.each(["application/json", "image/svg+xml", "application/x-yaml", "text/csv"])(
    "%s has one",
    async (mimeType) => {
      expect(await previewOf("a", mimeType)).toBe("a");
    },
  );

  it.each(["image/png", "application/octet-stream", "application/pdf"])("%s has none", async (mimeType) => {
    expect(await previewOf("a", mimeType)).toBeUndefined();
  });

  it("an empty artifact has none", async () => {
    expect(await previewOf("")).toBeUndefined();
  });
});

describe("the memory store", () => {
  it("forgets the oldest delegations when there is too much, never the one that is being written", async () => {
    const store = createMemoryArtifactStore(100);
    const put = async (delegationId: string, size: number, id = "a") => {
      const collector = new ArtifactCollector(delegationId, DEFAULT_POLICY, store);
      await collector.add(chunk("", { id, bytes: new Uint8Array(size), last: true }));
    };
    await put("one", 60);
    await put("two", 30);
    expect(await store.get("one", "a")).toBeDefined();
    await put("three", 30);
    expect(await store.get("one", "a")).toBeUndefined();
    expect(await store.get("two", "a")).toBeDefined();
    await put("big", 500);
    expect(await store.get("big", "report.md")).toBeDefined();
    expect(await store.get("two", "a")).toBeUndefined();
  });

  it("counts a replaced artifact once", async () => {
    const store = createMemoryArtifactStore(100);
    const collector = new ArtifactCollector("one", DEFAULT_POLICY, store);
    for (let index = 0; index < 10; index++)
      await collector.add(chunk("", { bytes: new Uint8Array(40), mode: "replace", last: true }));
    await new ArtifactCollector("two", DEFAULT_POLICY, store).add(
      chunk("", { bytes: new Uint8Array(40), last: true }),
    );
    expect(await store.get("one", "a")).toBeDefined();
  });
});

describe("mode structured", () => {
  const json = (text: string, mimeType = "application/json") =>
    chunk(text, { id: mimeType, name: "data.json", mimeType, mode: "replace" });

  it("what a JSON file says comes along, when it could fit", async () => {
    const { collector } = setup({ responseMode: "structured", maxResultBytes: 2_048 });
    expect(await collector.add(json('{"rows":[1]}'))).toMatchObject({ data: { rows: [1] } });
    expect(await collector.add(json("7", "application/problem+json"))).toMatchObject({ data: 7 });
    for (const other of [json("{"), json(`"${"x".repeat(2_048)}"`), json("{}", "text/plain")])
      expect(await collector.add(other)).not.toHaveProperty("data");
  });

  it("not with any other mode", async () => {
    expect(await setup().collector.add(json("{}"))).not.toHaveProperty("data");
  });
});

describe("a remote that calls every piece the last", () => {
  it("a file is not stored anew with each byte, and is whole at the end", async () => {
    const { collector, store, stored } = setup();
    let puts = 0;
    const put = store.put.bind(store);
    store.put = (...args) => {
      puts++;
      return put(...args);
    };
    for (let count = 0; count < 1_000; count++) await collector.add(chunk("x", { last: true }));
    expect(puts).toBeLessThan(30);
    expect(await collector.finish()).toMatchObject([{ artifact: { size: 1_000 } }]);
    expect(await stored("a")).toBe("x".repeat(1_000));
  });
});
