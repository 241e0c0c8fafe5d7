import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Examples with packages of their own. They are installed and built first: `node scripts/examples.js`. */
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    expect: { poll: { timeout: 20_000 } },
    include: ["test/examples/*.example.ts"],
    // One browser and one set of servers at a time.
    fileParallelism: false,
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
