import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { allPages } from "./markdown.js";

/** Inside the package, so that `troupe` is the package itself; `dist` is no part of the repository. */
const FOLDER = resolve("dist/.docs-examples");

const examples = allPages().flatMap((page) =>
  page
    .fences()
    .flatMap(({ where, language, text }) =>
      language === "ts" ? [{ where, text, name: where.replace(/\W+/g, "-") }] : [],
    ),
);

beforeAll(() => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const { name, text } of examples) writeFileSync(join(FOLDER, `${name}.ts`), text);
  writeFileSync(
    join(FOLDER, "tsconfig.json"),
    JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: { noEmit: false, outDir: "out", rootDir: ".", isolatedModules: false },
      include: ["*.ts"],
      exclude: [],
    }),
  );
});
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

it("every example in TypeScript compiles, and those with scripted peers do what they say", () => {
  expect(examples.length).toBeGreaterThan(10);
  try {
    execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", FOLDER, "--pretty", "false"], {
      encoding: "utf8",
    });
  } catch (error) {
    throw new Error((error as { stdout?: string }).stdout);
  }
  const run = (example: (typeof examples)[number]) =>
    execFileSync(process.execPath, [join(FOLDER, "out", `${example.name}.js`)], {
      encoding: "utf8",
      timeout: 20_000,
    });
  const scripted = examples.filter(({ text }) => text.includes('"troupe/testing"'));
  expect(scripted.length).toBe(2);
  const output = scripted.map(run).join("\n");
  expect(output).toContain("It said: Four.");
  expect(output).toContain("true 0");
});
