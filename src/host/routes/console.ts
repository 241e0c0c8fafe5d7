import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { notFound } from "../http-error.js";
import type { HostApp } from "./environment.js";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

const POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The built page: `dist/console` of this package, for the sources and for the build alike. */
const FOLDER = fileURLToPath(new URL("../../../dist/console/", import.meta.url));

/** Whether the page was built with this package. */
export function hasConsole(): boolean {
  return existsSync(join(FOLDER, "index.html"));
}

/** Serves the console. Its few files are read once; only what was there then can be asked for. */
export function consoleRoutes(app: HostApp): void {
  let files: Map<string, Buffer> | undefined;
  app.get("*", (context) => {
    files ??= readFolder();
    const path = context.req.path === "/" ? "/index.html" : context.req.path;
    const content = files.get(path);
    if (content === undefined) throw notFound("page");
    const immutable = path.startsWith("/assets/");
    return context.body(Uint8Array.from(content), 200, {
      "content-type": TYPES[extname(path)] ?? "application/octet-stream",
      "cache-control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
  });
}

function readFolder(): Map<string, Buffer> {
  try {
    const entries = readdirSync(FOLDER, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    return new Map(
      entries.map(({ parentPath, name }) => {
        const file = join(parentPath, name);
        return [`/${relative(FOLDER, file).split(sep).join("/")}`, readFileSync(file)];
      }),
    );
  } catch {
    return new Map();
  }
}
