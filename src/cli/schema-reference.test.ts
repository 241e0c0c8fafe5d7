import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SCHEMA_PATH } from "../config/json-schema.js";
import { schemaReference } from "./schema-reference.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "troupe-schema-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("is the path into node_modules, from the folder or one below it", () => {
  const installed = join(folder, "node_modules/troupe", SCHEMA_PATH);
  mkdirSync(join(installed, ".."), { recursive: true });
  writeFileSync(installed, "{}");
  expect(schemaReference(folder)).toBe(`./node_modules/troupe/${SCHEMA_PATH}`);
  const below = join(folder, "apps/web");
  mkdirSync(below, { recursive: true });
  expect(schemaReference(below)).toBe(`../../node_modules/troupe/${SCHEMA_PATH}`);
});

it("is this package's own where none is installed", () => {
  expect(schemaReference(folder)).toBe(pathToFileURL(resolve(SCHEMA_PATH)).href);
});
