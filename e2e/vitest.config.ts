import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    // A poll waits for another process; a busy machine may take longer than the default of a second.
    expect: { poll: { timeout: 20_000 } },
    include: ["e2e/**/*.test.ts"],
    globalSetup: ["test/global-setup.ts"],
    // The program is bound by the processor at its start: several at once take seconds each.
    fileParallelism: false,
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
