import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Foreign programs, live. They are installed first: `node test/interop/install.js`. */
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: { include: ["test/interop/*.interop.ts"], pool: "forks", testTimeout: 60_000, hookTimeout: 60_000 },
});
