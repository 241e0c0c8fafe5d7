// Prints a CycloneDX list of everything that a user of the package gets. `npm sbom --omit=dev` alone leaves out each package that
// a development tool needs as well, so it is asked about a manifest and a lock file that know of no tools.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const read = (name) =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), "utf8"));
const { devDependencies: _tools, workspaces: _parts, scripts: _scripts, ...manifest } = read("package.json");
const lock = read("package-lock.json");
const { devDependencies: _lockedTools, workspaces: _lockedParts, ...root } = lock.packages[""];
const used = Object.entries(lock.packages).filter(
  ([path, { dev, link }]) => path.startsWith("node_modules/") && dev !== true && link !== true,
);
const packages = { "": root, ...Object.fromEntries(used) };

const folder = mkdtempSync(join(tmpdir(), "troupe-sbom-"));
try {
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...lock, packages }));
  const command = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
  const { status } = spawnSync("npm", command, { cwd: folder, stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
