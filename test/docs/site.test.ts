import type { DefaultTheme } from "vitepress";
import { describe, expect, it } from "vitest";
import { pagePath } from "../../docs/.vitepress/places.js";
import { sidebar } from "../../docs/.vitepress/sidebar.js";
import { allPages } from "./markdown.js";

function linksOf(items: readonly DefaultTheme.SidebarItem[]): string[] {
  return items.flatMap(({ link, items: inner = [] }) => [
    ...(link === undefined ? [] : [link]),
    ...linksOf(inner),
  ]);
}

/** Addresses of pages on the site, as the sidebar writes them. */
const addresses = new Map(
  allPages().map(({ path }) => [`/${pagePath(path)}`.replace(/(^|\/)index\.md$|\.md$/, "$1"), path]),
);

describe("the site", () => {
  const listed = linksOf(sidebar);

  it("lists pages that exist, each once", () => {
    expect(listed.filter((link) => !addresses.has(link))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });

  it("lists every page of docs/ but the single decisions", () => {
    const wanted = [...addresses].filter(([, path]) => /^docs\/(?!decisions\/\d)/.test(path));
    expect(wanted.length).toBeGreaterThan(30);
    expect(wanted.filter(([link]) => !listed.includes(link))).toEqual([]);
  });
});
