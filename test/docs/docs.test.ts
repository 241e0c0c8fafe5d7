import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ParseError, parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { runCli } from "../../src/cli/program.js";
import { configSchema } from "../../src/config/schema.js";
import { substituteVariables } from "../../src/config/substitute.js";
import { allPages, membersOf, Page, quoted, sources } from "./markdown.js";

const pages = allPages();
const page = (path: string) => pages.find((one) => one.path === path) ?? new Page(path);
const src = sources("src");
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

const COMMANDS = ["demo", "serve", "run", "mcp", "watch", "agents", "check", "init", "replay", "completion"];

/** What is missing of `wanted` among the texts in backticks of a page. */
function missing(path: string, wanted: Iterable<string>): string[] {
  const told = new Set(page(path).code());
  return [...new Set(wanted)].filter((name) => !told.has(name));
}

describe("links", () => {
  it("of all pages resolve, to the heading", () => {
    expect(pages.length).toBeGreaterThan(25);
    const broken = pages.flatMap((one) =>
      one
        .links()
        .filter((link) => !/^(https?:|mailto:)/.test(link))
        .filter((link) => {
          const [file = "", anchor] = link.split("#");
          const target = file === "" ? one.path : join(dirname(one.path), file);
          if (!existsSync(target)) return true;
          return anchor !== undefined && !page(target).anchors().includes(anchor);
        })
        .map((link) => `${one.path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  it("reach every page from the README", () => {
    const reached = new Set<string>();
    const visit = (path: string) => {
      if (reached.has(path) || !path.endsWith(".md")) return;
      reached.add(path);
      for (const link of page(path).links()) {
        const [file = ""] = link.split("#");
        if (!/^[a-z]+:/.test(link) && file !== "") visit(join(dirname(path), file));
      }
    };
    visit("README.md");
    expect(
      pages.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !reached.has(path)),
    ).toEqual([]);
  });

  it("pictures are small", () => {
    for (const link of pages.flatMap(({ path }) =>
      page(path)
        .links()
        .map((link) => join(dirname(path), link)),
    )) {
      if (link.endsWith(".png")) expect(statSync(link).size, link).toBeLessThan(300_000);
    }
  });
});

describe("examples", () => {
  it("JSON parses, and what is a config passes its schema", () => {
    let configs = 0;
    for (const { where, language, text } of pages.flatMap((one) => one.fences())) {
      if (!["json", "jsonc", "yaml"].includes(language)) continue;
      const errors: ParseError[] = [];
      const value: unknown =
        language === "yaml" ? parseYaml(text) : parse(text, errors, { allowTrailingComma: true });
      expect(errors, where).toEqual([]);
      if (language === "json") expect(() => JSON.parse(text), where).not.toThrow();
      if (typeof value !== "object" || value === null || !("agents" in value)) continue;
      configs++;
      const given = "from the environment";
      const variables = new Proxy<Record<string, string>>(
        {},
        {
          get: () => given,
          getOwnPropertyDescriptor: () => ({ value: given, configurable: true, enumerable: true }),
        },
      );
      const checked = configSchema.safeParse(substituteVariables(value, variables));
      expect(checked.error?.issues ?? [], where).toEqual([]);
    }
    expect(configs).toBeGreaterThanOrEqual(3);
  });

  it("JSON in tables parses", () => {
    const broken = pages
      .flatMap((one) => one.prose().split("\n"))
      .flatMap((line) => (line.startsWith("|") ? [...line.matchAll(/`(\{"[^`]*\})`/g)] : []))
      .map(([, json = ""]) => json)
      .filter((json) => !json.includes(":…") && !isJson(json));
    expect(broken).toEqual([]);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The help text of a command. */
async function helpOf(...command: string[]): Promise<string> {
  let text = "";
  const write = process.stdout.write;
  process.stdout.write = (chunk: string | Uint8Array) => {
    text += String(chunk);
    return true;
  };
  try {
    expect(await runCli([...command, "--help"])).toBe(0);
  } finally {
    process.stdout.write = write;
  }
  return text;
}

describe("commands", () => {
  const named = pages.flatMap((one) => [
    ...one.code().map((code) => ({ where: one.path, code })),
    ...one
      .fences()
      .filter(({ language }) => language === "sh")
      .flatMap(({ where, text }) =>
        text.split("\n").map((code) => ({ where, code: code.replace(/ #.*$/, "") })),
      ),
  ]);

  it("of npm exist", () => {
    const scripts = named.flatMap(({ where, code }) =>
      [...code.matchAll(/\bnpm (?:run ([\w:]+)|(start|test)\b)/g)].map(([, run, short]) => ({
        where,
        script: run ?? short ?? "",
      })),
    );
    expect(scripts.length).toBeGreaterThan(8);
    // An example may have a package of its own, whose page names the root's scripts as well.
    const own = (where: string) => {
      const file = join(dirname(where), "package.json");
      return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as typeof manifest).scripts : {};
    };
    expect(
      scripts.filter(({ script, where }) => !(script in manifest.scripts) && !(script in own(where))),
    ).toEqual([]);
  });

  it("of troupe exist, with their options", async () => {
    const calls = named.flatMap(({ where, code }) => {
      const words = /(?:^|\s)(?:troupe|node dist\/cli\/main\.js) (.*)$/.exec(code)?.[1]?.trim().split(/\s+/);
      return words === undefined ? [] : [{ where, words }];
    });
    expect(calls.length).toBeGreaterThan(15);
    const top = await helpOf();
    const [listed = ""] = top.split("Examples:");
    const commands = [...listed.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);
    expect(commands).toEqual([...COMMANDS, "help"]);
    const helps = new Map<string, string>([["", top]]);
    for (const name of COMMANDS) helps.set(name, await helpOf(name));
    for (const name of ["install", "revoke"])
      helps.set("mcp", `${helps.get("mcp")}${await helpOf("mcp", name)}`);
    for (const { where, words } of calls) {
      const [first = ""] = words;
      const command = first.startsWith("-") ? "" : first;
      if (command === "help") continue;
      expect([...helps.keys()], `${where}: troupe ${words.join(" ")}`).toContain(command);
      const options = words
        .filter((word) => /^--?[a-z]/.test(word))
        .map((word) => word.replace(/[,.;:]$/, ""));
      for (const option of options) expect(helps.get(command), `${where}: ${command}`).toContain(option);
    }
    // And the other way round: each option has its line in cli.md.
    const told = page("docs/cli.md").code().join(" ");
    for (const help of helps.values())
      for (const [option] of help.matchAll(/--[a-z-]+/g))
        if (!/^--(help|version)$/.test(option)) expect(told).toContain(option);
  });
});

describe("reference pages", () => {
  it("errors.md has every error code, and no other", () => {
    const codes = new Set<string>();
    for (const [file, text] of src) {
      if (file.startsWith("src/testing/")) continue;
      for (const code of quoted(text, /export type \w+ErrorCode =([\s\S]*?);/g)) codes.add(code);
      for (const [, code = ""] of text.matchAll(
        /(?:new (?:Troupe|Client|Wire)Error(?:<[^>]*>)?\(|new HttpError\(\s*\d+,|extends TroupeError<)\s*"(\w+)"/g,
      ))
        codes.add(code);
    }
    expect(codes.size).toBeGreaterThan(40);
    const cells = page("docs/errors.md")
      .prose()
      .split("\n")
      .flatMap((line) => /^\| (?:[\d, ]+ \| )?`(\w+)` \|/.exec(line)?.[1] ?? []);
    expect([...codes].filter((code) => !cells.includes(code))).toEqual([]);
    expect(cells.filter((code) => !codes.has(code))).toEqual([]);
  });

  it("http.md has every event, frame and route", () => {
    const events = ["src/core/run-event.ts", "src/delegation/events.ts", "src/journal/journal.ts"].flatMap(
      (file) =>
        [...(src.get(file) ?? "").matchAll(/readonly type: "([\w.]+)"/g)].map(([, name = ""]) => name),
    );
    expect(events.length).toBeGreaterThan(35);
    expect(missing("docs/http.md", events)).toEqual([]);

    const frames = [...src]
      .filter(([file]) => file.startsWith("src/bridges/agui/"))
      .flatMap(([, text]) => [...text.matchAll(/type: "([A-Z_]{6,})"/g)].map(([, name = ""]) => name));
    expect(frames.length).toBeGreaterThan(20);
    expect(missing("docs/http.md", frames)).toEqual([]);

    const routes = [...src]
      .filter(([file]) => file.startsWith("src/host/routes/"))
      .flatMap(([, text]) =>
        [...text.matchAll(/app\.(get|post)\("(\/[^"]*)"/g)].map(
          ([, method = "", path = ""]) => `${method.toUpperCase()} ${path}`,
        ),
      );
    expect(routes.length).toBeGreaterThan(10);
    expect(missing("docs/http.md", routes)).toEqual([]);
  });

  it("the config's keys, the options and the policies have their lines", () => {
    const shape = (schema: unknown): string[] => {
      const {
        shape: members,
        innerType,
        element,
        valueType,
        options,
      } = (
        schema as {
          def: Record<string, unknown>;
        }
      ).def;
      const own = typeof members === "object" && members !== null ? Object.entries(members) : [];
      const inner = [innerType, element, valueType, ...(Array.isArray(options) ? options : [])].filter(
        (one) => typeof one === "object" && one !== null,
      );
      return [...own.flatMap(([key, member]) => [key, ...shape(member)]), ...inner.flatMap(shape)];
    };
    const keys = shape(configSchema);
    expect(keys).toContain("headerName");
    const told = page("docs/configuration.md").text;
    expect(
      [...new Set(keys)].filter((key) => !new RegExp(`[\`"]${key.replace("$", "\\$")}[\`"]`).test(told)),
    ).toEqual([]);

    const files: readonly (readonly [string, string, string])[] = [
      ["docs/embedding.md", "src/core/agent.ts", "AgentOptions"],
      ["docs/embedding.md", "src/core/agent.ts", "RunOptions"],
      ["docs/embedding.md", "src/host/host.ts", "HostOptions"],
      ["docs/embedding.md", "src/delegation/policy.ts", "DelegationPolicy"],
      ["docs/embedding.md", "src/journal/memory-journal.ts", "MemoryJournalOptions"],
      ["docs/journals.md", "src/journal/sqlite-file.ts", "SqliteFileOptions"],
      ["docs/journals.md", "src/journal/sqlite-journal.ts", "SqliteJournalLimits"],
      ["docs/claude-code.md", "src/drivers/claude/options.ts", "ClaudeOptions"],
      ["docs/codex.md", "src/drivers/codex/options.ts", "CodexOptions"],
      ["docs/a2a-remotes.md", "src/remotes/a2a/options.ts", "A2aOptions"],
      ["docs/a2a-remotes.md", "src/remotes/a2a/options.ts", "A2aLimits"],
      ["docs/agui-remotes.md", "src/remotes/agui/options.ts", "AguiOptions"],
      ["docs/agui-remotes.md", "src/remotes/agui/options.ts", "AguiLimits"],
    ];
    for (const [path, file, name] of files) {
      const members = membersOf(file, name);
      expect(members.length, name).toBeGreaterThan(4);
      expect(missing(path, members), `${name} in ${path}`).toEqual([]);
    }
  });

  it.each([
    ["docs/claude-code.md", "claude"],
    ["docs/codex.md", "codex"],
  ])("%s has every notice, and the variables that reach the program", (path, driver) => {
    const own = [...src].filter(
      ([file]) => !file.startsWith("src/drivers/") || file.startsWith(`src/drivers/${driver}/`),
    );
    const notices = own.flatMap(([, text]) =>
      [...text.matchAll(/type: "notice",\s*level: "\w+",\s*code: "(\w+)"|\bwarning\(\s*"(\w+)"/g)].map(
        ([, whole, short]) => whole ?? short ?? "",
      ),
    );
    expect(notices.length).toBeGreaterThan(4);
    expect(missing(path, notices)).toEqual([]);
    const variables = quoted(
      src.get(`src/drivers/${driver}/${driver}.ts`) ?? "",
      /const ENVIRONMENT = \[([\s\S]*?)\]/g,
    );
    expect(variables.length).toBeGreaterThan(7);
    expect(missing(path, variables)).toEqual([]);
  });

  it("testing-kit.md has every directive and step", () => {
    const directives = [...(src.get("src/testing/a2a/script.ts") ?? "").matchAll(/case "([a-z-]+)":/g)].map(
      ([, name = ""]) => `#${name}`,
    );
    expect(directives.length).toBeGreaterThan(12);
    const told = page("docs/testing-kit.md").code().join(" ");
    expect(directives.filter((name) => !new RegExp(`${name}(?![a-z-])`).test(told))).toEqual([]);
    const steps = [
      ...(
        /export type ScriptStep =([\s\S]*?);\n\n/.exec(src.get("src/testing/claude/script.ts") ?? "")?.[1] ??
        ""
      ).matchAll(/^ {2}\| \{ (?:\n {6})?readonly (\w+)|^ {2}\| \{\n {6}readonly (\w+)/gm),
    ].map(([, inline, block]) => inline ?? block ?? "");
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.filter((name) => !told.includes(name))).toEqual([]);
  });

  it("decisions are all listed", () => {
    const files = pages.map(({ path }) => path).filter((path) => /^docs\/decisions\/\d/.test(path));
    expect(files.length).toBeGreaterThan(12);
    const listed = page("docs/decisions/README.md").links();
    expect(files.filter((path) => !listed.includes(path.replace("docs/decisions/", "")))).toEqual([]);
  });
});

describe("examples/embed", () => {
  it("runs as the README says", () => {
    const output = execFileSync(process.execPath, ["examples/embed/main.js"], {
      encoding: "utf8",
      timeout: 25_000,
    });
    expect(output).toContain("[the model got ");
    expect(output).toMatch(/^The research agent answered: \S/m);
  });
});
