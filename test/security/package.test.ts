import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));

it("the SBOM lists everything that a user gets, by version, and nothing that only tests need", () => {
  const text = execFileSync(process.execPath, ["scripts/sbom.js"], {
    encoding: "utf8",
    maxBuffer: 64_000_000,
  });
  const { bomFormat, components } = JSON.parse(text);
  expect(bomFormat).toBe("CycloneDX");
  const listed = new Map<string, { version: string; purl: string }>(
    components.map((one: { group?: string; name: string; version: string; purl: string }) => [
      one.group === undefined ? one.name : `${one.group}/${one.name}`,
      one,
    ]),
  );
  for (const name of [...Object.keys(manifest.dependencies), ...Object.keys(manifest.optionalDependencies)])
    expect([name, listed.get(name)?.version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
  for (const name of ["vitest", "playwright-core", "@biomejs/biome"]) expect(listed.has(name)).toBe(false);
  expect(components.length).toBeGreaterThan(100);
});

it("installing runs nothing of this package, and publishing asks for provenance", () => {
  for (const script of ["preinstall", "install", "postinstall", "prepare"])
    expect(manifest.scripts).not.toHaveProperty(script);
  expect(manifest.publishConfig).toMatchObject({ provenance: true });
  expect(manifest.files).toEqual([
    "dist",
    "schema",
    "!dist/**/*.test.*",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
  ]);
});

it("the lock file has each package from the registry, with its hash", () => {
  const packages = Object.entries<{ resolved?: string; integrity?: string; link?: boolean }>(lock.packages);
  const foreign = packages.filter(([path, { link }]) => path.includes("node_modules/") && link !== true);
  expect(foreign.length).toBeGreaterThan(100);
  for (const [path, { resolved, integrity }] of foreign) {
    expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
    // Without an address the registry's own is taken.
    if (resolved !== undefined) expect(resolved).toMatch(/^https:\/\/registry\.npmjs\.org\//);
  }
});
