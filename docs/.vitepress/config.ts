import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig } from "vitepress";
import { headingAnchor, isPage, PAGE_FOLDERS, pagePath } from "./places.js";
import { repositoryLinks } from "./repository-links.js";
import { sidebar } from "./sidebar.js";

const root = resolve(import.meta.dirname, "../..");
const links = repositoryLinks(root);
const excluded = readdirSync(root, { withFileTypes: true }).flatMap((entry) => {
  if (entry.isDirectory()) return PAGE_FOLDERS.includes(entry.name) ? [] : [`${entry.name}/**`];
  return isPage(entry.name) ? [] : [entry.name];
});

/**
 * The site is made of the pages as they are in the repository; nothing of it needs a server. `npm run docs` builds it into
 * `dist-docs/`, and fails on links that lead nowhere.
 */
export default defineConfig({
  title: "Troupe",
  description: "Coding agents call remote agents as visual subagents.",
  lang: "en",
  // So that it works below any path, and from a folder.
  base: "./",
  srcDir: root,
  outDir: resolve(root, "dist-docs"),
  cacheDir: resolve(root, "node_modules/.vitepress"),
  srcExclude: ["**/dist*/**", ...excluded],
  rewrites: pagePath,
  lastUpdated: false,
  markdown: {
    anchor: { slugify: headingAnchor },
    config: links.install,
    languageAlias: { caddyfile: "nginx" },
  },
  vite: {
    publicDir: false,
    build: { chunkSizeWarningLimit: 2000 },
  },
  buildEnd: links.copyFiles,
  themeConfig: {
    siteTitle: "Troupe",
    nav: [
      { text: "Start", link: "/getting-started" },
      { text: "Reference", link: "/reference/configuration" },
      { text: "Errors", link: "/errors" },
      { text: "Changelog", link: "/CHANGELOG" },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    externalLinkIcon: false,
  },
});
