import { expect, it } from "vitest";
import { ArtifactCollector, createMemoryArtifactStore } from "../../src/delegation/artifacts.js";
import type { ArtifactDescription } from "../../src/delegation/events.js";
import type { RemoteArtifactChunk } from "../../src/delegation/remote.js";
import { FUZZ_LIMIT_MS, fuzz, must } from "./fuzz.js";

const POLICY = { maxArtifactBytes: 64, maxArtifacts: 4, allowRemoteArtifacts: true };

it(
  "whatever a remote calls its artifacts, each has one safe name and type, and the limits hold",
  async () => {
    const store = createMemoryArtifactStore(4_096);
    let kept = 0;
    await fuzz<RemoteArtifactChunk[]>({
      // Three chunks each.
      inputs: 200_000,
      generate: (random) =>
        Array.from({ length: 1 + random.below(5) }, () => ({
          id: random.chance(0.5) ? random.pick(["a", "b"]) : random.text(),
          ...(random.chance(0.9) ? { name: random.chance(0.3) ? "same.md" : random.text() } : {}),
          ...(random.chance(0.9) ? { mimeType: random.text() } : {}),
          mode: random.pick(["append", "replace"] as const),
          bytes: Buffer.from(random.text().slice(0, 48)),
          last: random.chance(0.3),
        })),
      async check(chunks) {
        const collector = new ArtifactCollector("del-1", POLICY, store);
        const latest = new Map<string, ArtifactDescription>();
        const take = (collected: Awaited<ReturnType<typeof collector.add>>) => {
          if (collected === undefined) return;
          const { artifact, error } = collected;
          const { name, mimeType, uri, size, sha256, preview } = artifact;
          must(name !== "" && name.length <= 210 && name === name.trim(), "have a name");
          must(
            !/[\p{Cc}\p{Surrogate}\p{Bidi_Control}/\\]/u.test(name) && !name.startsWith("."),
            "have a safe name",
          );
          must(/^[\w.+-]+\/[\w.+-]+$/.test(mimeType), "have a plain media type");
          must(
            uri === `host://delegations/del-1/artifacts/${encodeURIComponent(name)}`,
            "be found under its name",
          );
          must(/^[0-9a-f]{64}$/.test(sha256), "have a digest");
          must(error !== undefined || size <= POLICY.maxArtifactBytes, "keep to the limit");
          must(preview === undefined || Buffer.byteLength(preview) <= 3 * 2_048, "have a short preview");
          new Headers({ "content-type": mimeType, "x-name": encodeURIComponent(name) });
          JSON.parse(JSON.stringify(artifact));
          latest.set(artifact.id, artifact);
          if (error === undefined) kept++;
        };
        for (const chunk of chunks) take(await collector.add(chunk));
        for (const collected of await collector.finish()) take(collected);
        const names = [...latest.values()].map(({ name }) => name);
        must(new Set(names).size === names.length, "give each a name of its own");
        must(latest.size <= POLICY.maxArtifacts + 1, "stop at the limit");
      },
    });
    expect(kept).toBeGreaterThan(0);
  },
  FUZZ_LIMIT_MS,
);
