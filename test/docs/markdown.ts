import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { headingAnchor } from "../../docs/.vitepress/places.js";

/** A fenced block of a page. */
export interface Fence {
  /** Page and line, for messages. */
  readonly where: string;
  readonly language: string;
  readonly text: string;
}

/** A page of the documentation. */
export class Page {
  readonly text: string;

  constructor(readonly path: string) {
    this.text = readFileSync(path, "utf8");
  }

  /** All fenced blocks. */
  fences(): Fence[] {
    return [...this.text.matchAll(/^```([a-z]*)\n([\s\S]*?)^```$/gm)].map(
      ({ 1: language = "", 2: text = "", index }) => {
        const line = this.text.slice(0, index).split("\n").length;
        return { where: `${this.path}:${line}`, language, text };
      },
    );
  }

  /** Everything outside of fenced blocks. */
  prose(): string {
    return this.text.replace(/^```[\s\S]*?^```$/gm, "");
  }

  /** What stands in backticks outside of fenced blocks. */
  code(): string[] {
    return [...this.prose().matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  }

  /** Targets of links and pictures, as they are written. */
  links(): string[] {
    const prose = this.prose();
    return [
      ...[...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target),
      ...[...prose.matchAll(/(?:src|srcset|href)="([^"]+)"/g)].map(([, target = ""]) => target),
    ];
  }

  /** The names under which headings can be linked. */
  anchors(): string[] {
    return [...this.prose().matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = ""]) => headingAnchor(heading));
  }
}

/** Every page that belongs to the repository. */
export function allPages(): Page[] {
  const folders = ["docs", "bench", "examples"].flatMap(markdownIn);
  const top = readdirSync(".").filter((file) => file.endsWith(".md"));
  return [...top, ...folders].map((path) => new Page(path));
}

/** A recursive read would follow an example's link to this package round and round. */
function markdownIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : markdownIn(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** The source files of a folder that are no tests, by path. */
export function sources(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !/\.test\.ts$/.test(file),
  );
  return new Map(files.map((file) => [join(folder, file), readFileSync(join(folder, file), "utf8")]));
}

/** Names of the members that an exported interface declares itself. */
export function membersOf(file: string, name: string): string[] {
  const text = readFileSync(file, "utf8");
  const body = new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`, "m").exec(text)?.[1];
  if (body === undefined) throw new Error(`${file} has no interface ${name}`);
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gm)].map(([, member = ""]) => member);
}

/** Texts in double quotes of what `pattern` captures. */
export function quoted(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap(([, body = ""]) =>
    [...body.matchAll(/"([^"\n]+)"/g)].map(([, value = ""]) => value),
  );
}
