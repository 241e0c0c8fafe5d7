import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import type { StoredArtifact } from "./artifacts.js";
import { createDirectoryArtifactStore } from "./directory-artifacts.js";

let directory = "";
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), "troupe-artifacts-")), "store");
});
afterEach(() => rmSync(join(directory, ".."), { recursive: true, force: true }));

function artifact(id: string, text: string, name = `${id}.txt`): StoredArtifact {
  const bytes = Buffer.from(text);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const uri = `host://delegations/del/artifacts/${name}`;
  return { description: { id, name, mimeType: "text/plain", uri, size: bytes.byteLength, sha256 }, bytes };
}

/** Paths of the stored bytes. */
const stored = () =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes("/artifacts"))
    .map((entry) => join(entry.parentPath, entry.name));

describe("artifacts in a directory", () => {
  it("are found by id or name, by another process as well, and the newest of an id counts", async () => {
    const store = createDirectoryArtifactStore({ directory });
    await store.put("del-1", artifact("a", "first"));
    await store.put("del-1", artifact("b", "other"));
    await store.put("del-1", artifact("a", "second"));
    const next = createDirectoryArtifactStore({ directory });
    expect(await next.get("del-1", "a")).toEqual(artifact("a", "second"));
    expect(await next.get("del-1", "b.txt")).toEqual(artifact("b", "other"));
    expect(await next.get("del-1", "c")).toBeUndefined();
    expect(await next.get("del-2", "a")).toBeUndefined();
  });

  it("of many calls at once are all there", async () => {
    const store = createDirectoryArtifactStore({ directory });
    const ids = Array.from({ length: 20 }, (_, index) => `a${index}`);
    await Promise.all(ids.map((id) => store.put("del-1", artifact(id, id))));
    for (const id of ids) expect((await store.get("del-1", id))?.bytes.toString()).toBe(id);
  });

  it("are there once for the same bytes, under their sha256, for their user alone", async () => {
    const store = createDirectoryArtifactStore({ directory });
    const { description } = artifact("a", "same");
    await store.put("del-1", artifact("a", "same"));
    await store.put("del-2", artifact("b", "same"));
    const { sha256 } = description;
    expect(stored()).toEqual([join(directory, "artifacts", sha256.slice(0, 2), sha256.slice(2))]);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(stored()[0] ?? "").mode & 0o777).toBe(0o600);
  });

  it("go with their delegation, unless another one has the same bytes", async () => {
    const clock = new ManualClock();
    const store = createDirectoryArtifactStore({ directory, clock });
    await store.put("del-1", artifact("a", "shared"));
    await store.put("del-1", artifact("b", "own"));
    await store.put("del-2", artifact("c", "shared"));
    // Somebody may just be about to refer to them.
    await store.drop(["del-1"]);
    expect(stored()).toHaveLength(2);
    expect(await store.get("del-1", "a")).toBeUndefined();
    await clock.advance(2 * 3_600_000);
    await store.drop([]);
    expect(stored()).toHaveLength(1);
    expect(await store.get("del-2", "c")).toEqual(artifact("c", "shared"));
    await clock.advance(3_600_000);
    await store.drop(["del-2"]);
    expect(stored()).toEqual([]);
  });

  it("an id is never a path", async () => {
    const store = createDirectoryArtifactStore({ directory });
    await store.put("../../outside", artifact("../a", "x", "../../b"));
    expect(readdirSync(join(directory, ".."))).toEqual(["store"]);
    expect(await store.get("../../outside", "../../b")).toEqual(artifact("../a", "x", "../../b"));
  });

  it("that were damaged are not there, and neither is what a damaged list names", async () => {
    const store = createDirectoryArtifactStore({ directory });
    await store.put("del-1", artifact("a", "whole"));
    writeFileSync(stored()[0] ?? "", "w");
    expect(await store.get("del-1", "a")).toBeUndefined();
    // Stored again, they are whole again.
    await store.put("del-1", artifact("a", "whole"));
    expect(await store.get("del-1", "a")).toEqual(artifact("a", "whole"));
    const [list = ""] = readdirSync(join(directory, "delegations"));
    for (const text of ['{"artifacts":[{"id":"a"},null,7]}', "[", "null", ""]) {
      writeFileSync(join(directory, "delegations", list), text);
      expect(await store.get("del-1", "a")).toBeUndefined();
    }
    await store.put("del-1", artifact("b", "again"));
    expect(await store.get("del-1", "b")).toEqual(artifact("b", "again"));
  });
});
