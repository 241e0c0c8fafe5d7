/** Folders of the repository whose pages belong to the site. */
export const PAGE_FOLDERS = ["docs", "examples", "bench"];

/** Pages at the top of the repository that belong to it. */
const TOP_PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/** Where a page of the repository is on the site: `docs/` is its top, and a README stands for its folder. */
export function pagePath(path: string): string {
  return path.replace(/^docs\//, "").replace(/(^|\/)README\.md$/, "$1index.md");
}

/** Whether the site has this file as a page. */
export function isPage(path: string): boolean {
  const [folder = ""] = path.split("/");
  return TOP_PAGES.includes(path) || (PAGE_FOLDERS.includes(folder) && path.endsWith(".md"));
}

/** The name of a heading in links, as code hosts make it, so that one link works in both places. */
export function headingAnchor(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
