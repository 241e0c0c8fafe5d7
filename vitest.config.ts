import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // A poll waits for another process; a busy machine may take longer than the default of a second.
    expect: { poll: { timeout: 20_000 } },
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Minutes of faults have a command of their own.
    exclude: ["test/faults/**"],
    globalSetup: ["test/global-setup.ts"],
    pool: "forks",
    // Most tests wait for other processes most of the time, so two cores have room for three. CI has more to compute.
    maxWorkers: process.env.CI === undefined ? 3 : 2,
    setupFiles: ["test/property-runs.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
