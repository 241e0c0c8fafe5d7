import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

/** The rooms of `src/`, and what each may import of ours. */
const ROOMS: Record<string, readonly string[]> = {
  core: [],
  wire: ["core"],
  journal: ["core"],
  drivers: ["core"],
  delegation: ["core", "journal"],
  remotes: ["core", "wire", "delegation"],
  bridges: ["core", "wire", "journal", "delegation"],
  telemetry: ["core", "wire", "journal", "delegation"],
  client: ["wire", "core", "delegation", "journal"],
  config: [
    "core",
    "wire",
    "journal",
    "drivers",
    "delegation",
    "remotes",
    "bridges",
    "telemetry",
    "client",
    "host",
  ],
  host: ["core", "wire", "journal", "drivers", "delegation", "remotes", "bridges", "telemetry", "client"],
  cli: [
    "core",
    "wire",
    "journal",
    "drivers",
    "delegation",
    "remotes",
    "bridges",
    "telemetry",
    "client",
    "host",
    "config",
    "testing",
  ],
};

/** Packages that only one place may know. */
const PACKAGES: readonly (readonly [name: RegExp, places: RegExp])[] = [
  [/^undici$/, /^wire\//],
  [/^@agentclientprotocol\//, /^drivers\/acp\//],
  [/^better-sqlite3$|^redis$/, /^journal\//],
  [/^@a2a-js\/sdk/, /^remotes\/a2a\/|^bridges\/a2a\//],
  [/^@ag-ui\//, /^remotes\/agui\/|^bridges\/agui\//],
  [/^@modelcontextprotocol\//, /^bridges\/mcp\//],
  [/^@opentelemetry\//, /^telemetry\//],
  [/^hono|^@hono\//, /^host\//],
  [/^commander$|^log-update$|^picocolors$|^wrap-ansi$|^open$/, /^cli\//],
  [/^jsonc-parser$|^yaml$/, /^config\//],
];

interface Import {
  readonly file: string;
  readonly room: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function imports(): Import[] {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.ts$/.test(file) && !/\.test\.ts$/.test(file),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join("src", file), "utf8");
    return [
      ...text.matchAll(
        /^(?:import|export)\s+(type\s)?[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|import\("([^"]+)"\)/gm,
      ),
    ].map(([, typeOnly, from, bare, dynamic]) => {
      const target = from ?? bare ?? dynamic ?? "";
      const resolved = target.startsWith(".") ? relative("src", join("src", dirname(file), target)) : target;
      return { file, room: file.split("/")[0] ?? "", target: resolved, typeOnly: typeOnly !== undefined };
    });
  });
}

describe("the rooms of src (design 2)", () => {
  const all = imports();

  it("sees the imports at all", () => {
    expect(all.length).toBeGreaterThan(200);
  });

  it("imports point downwards only", () => {
    const wrong = all.filter(({ room, target }) => {
      const allowed = ROOMS[room];
      const to = target.split("/")[0] ?? "";
      return allowed !== undefined && to in ROOMS && to !== room && !allowed.includes(to);
    });
    expect(wrong).toEqual([]);
  });

  it("the test kit is used by commands and nothing below", () => {
    expect(
      all.filter(({ room, target }) => target.startsWith("testing/") && room !== "testing" && room !== "cli"),
    ).toEqual([]);
  });

  it("bridges and remotes do not know each other", () => {
    const inner = (path: string) => path.split("/").slice(0, 2).join("/");
    const wrong = all.filter(
      ({ room, file, target }) =>
        (room === "bridges" || room === "remotes") &&
        target.startsWith(`${room}/`) &&
        inner(file) !== inner(target) &&
        !target.startsWith("remotes/http/"),
    );
    expect(wrong).toEqual([]);
  });

  it("a driver knows no other driver", () => {
    const inner = (path: string) => path.split("/").slice(0, 2).join("/");
    const wrong = all.filter(
      ({ room, file, target }) =>
        room === "drivers" &&
        target.startsWith("drivers/") &&
        inner(file) !== inner(target) &&
        !target.startsWith("drivers/process/"),
    );
    expect(wrong).toEqual([]);
  });

  it.each(PACKAGES)("only one room knows %s", (pattern, places) => {
    const wrong = all.filter(
      ({ file, room, target }) => pattern.test(target) && !places.test(file) && room !== "testing",
    );
    expect(wrong).toEqual([]);
  });

  it("core uses Node and zod alone", () => {
    const foreign = all.filter(
      ({ room, target }) =>
        room === "core" && !target.startsWith("core/") && !target.startsWith("node:") && target !== "zod",
    );
    expect(foreign).toEqual([]);
  });

  it("the client uses nothing of Node, and of other rooms but types and the SSE reader", () => {
    const wrong = all.filter(
      ({ room, target, typeOnly }) =>
        room === "client" &&
        !target.startsWith("client/") &&
        !typeOnly &&
        !["wire/sse-reader.js", "wire/limits.js", "core/clock.js", "core/errors.js"].includes(target),
    );
    expect(wrong).toEqual([]);
    const reader = all.filter(
      ({ file, target }) =>
        /^wire\/sse-reader\.ts$|^core\/(clock|errors)\.ts$/.test(file) && target.startsWith("node:"),
    );
    expect(reader).toEqual([]);
  });

  it("no wildcard and no default exports", () => {
    for (const file of readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts"),
    )) {
      const text = readFileSync(join("src", file), "utf8");
      expect(text, file).not.toMatch(/^export (\*|default)/m);
    }
  });
});
