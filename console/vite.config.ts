import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// A test runner sets another one, and React's development version would be built: several times as slow.
process.env.NODE_ENV = "production";

export default defineConfig({
  // The host may stand under any path.
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../dist/console",
    emptyOutDir: true,
    target: "es2022",
    // The page's content security policy allows neither inline scripts nor data: fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
