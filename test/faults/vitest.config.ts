import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LANES } from "./lanes.js";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    expect: { poll: { timeout: 20_000 } },
    include: ["test/faults/**/*.test.ts"],
    globalSetup: ["test/global-setup.ts"],
    pool: "forks",
    maxConcurrency: LANES,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
