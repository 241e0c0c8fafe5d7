import { cpSync, existsSync, statSync } from "node:fs";
import { join, posix, relative } from "node:path";
import type { MarkdownRenderer, SiteConfig } from "vitepress";
import { isPage, pagePath } from "./places.js";

/** Where the site keeps files of the repository that pages link to and that are no pages. */
const FILES = "files";

/** Where a page stands: what the renderer is told about it. */
interface PageEnvironment {
  /** Absolute path in the repository. */
  readonly realPath?: string;
  readonly path: string;
}

/**
 * Pages link to each other, to pictures and to sources by their places in the repository. The site has them elsewhere: links to
 * pages are led there, and other files are copied beside them.
 */
export function repositoryLinks(root: string): {
  /** Adds the rule to the renderer. */
  readonly install: (markdown: MarkdownRenderer) => void;
  /** Copies what pages linked to into the site that was built. */
  readonly copyFiles: (site: SiteConfig) => void;
} {
  const files = new Set<string>();

  /** @returns the link as the page of the site needs it; as it is when it leads out of the repository, or nowhere. */
  function onSite(link: string, page: string): string {
    if (/^([a-z]+:|#|\/)/i.test(link)) return link;
    const [, path = "", rest = ""] = /^([^?#]*)(.*)$/.exec(link) ?? [];
    let target = posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, "");
    const absolute = join(root, target);
    if (target.startsWith("..") || !existsSync(absolute)) return link;
    if (statSync(absolute).isDirectory()) target = `${target}/README.md`;
    if (!existsSync(join(root, target))) return link;
    let place = `${FILES}/${target}`;
    if (isPage(target)) place = pagePath(target);
    else files.add(target);
    const way = posix.relative(posix.dirname(pagePath(page)), place);
    return `${way.startsWith(".") ? way : `./${way}`}${rest}`;
  }

  /** Pictures are taken by the bundler from where they are, so their way begins at the page's own folder. */
  const picture = (link: string) => (/^([a-z]+:|\/|\.)/i.test(link) ? link : `./${link}`);

  return {
    install(markdown) {
      // Pages are no templates: what looks like an expression is text.
      for (const name of ["text", "code_inline"] as const) {
        const rule = markdown.renderer.rules[name];
        if (rule === undefined) throw new Error(`There is no rule for ${name}`);
        markdown.renderer.rules[name] = (...given) => String(rule(...given)).replaceAll("{{", "&#123;&#123;");
      }
      markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
        const { realPath, path } = env as PageEnvironment;
        const page = relative(root, realPath ?? path).replaceAll("\\", "/");
        for (const token of tokens) {
          if (token.type === "html_block")
            token.content = token.content.replace(
              /\b(src|srcset)="([^"]+)"/g,
              (_, name: string, link: string) => `${name}="${picture(link)}"`,
            );
          for (const child of token.children ?? []) {
            const href = child.type === "link_open" ? child.attrGet("href") : null;
            if (href === null) continue;
            const place = onSite(href, page);
            child.attrSet("href", place);
            // Not a page: the browser has to ask for it.
            if (/^(\.\.?\/)+files\//.test(place)) child.attrSet("target", "_self");
          }
        }
      });
    },
    copyFiles({ outDir }) {
      for (const file of files) cpSync(join(root, file), join(outDir, FILES, file));
    },
  };
}
