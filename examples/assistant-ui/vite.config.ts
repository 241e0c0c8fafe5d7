import { defineConfig } from "vite";

const host = process.env.HOST ?? "http://127.0.0.1:4100";
// The page and the host are one origin to the browser, and to the host.
const proxy = { "/agents": { target: host, changeOrigin: true, headers: { origin: host } } };

export default defineConfig({ build: { target: "es2022" }, preview: { host: "127.0.0.1", proxy } });
