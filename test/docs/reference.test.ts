import { resolve } from "node:path";
import { expect, it } from "vitest";
import { configurationReference } from "../../scripts/reference/configuration.js";
import { eventsReference } from "../../scripts/reference/events.js";
import { httpReference } from "../../scripts/reference/http.js";
import { sources } from "./markdown.js";

it.each([
  ["configuration", configurationReference],
  ["events", eventsReference],
  ["http", httpReference],
])("docs/reference/%s.md is current; `npm run docs` writes it", async (name, written) => {
  await expect(written()).toMatchFileSnapshot(resolve(`docs/reference/${name}.md`));
});

it("docs/reference/events.md has every event", () => {
  const types = [...sources("src")].flatMap(([file, text]) =>
    /^src\/(core|delegation|journal)\//.test(file)
      ? [...text.matchAll(/readonly type: "([a-z_]+\.[a-z_.]+)"/g)].map(([, type = ""]) => type)
      : [],
  );
  expect(types.length).toBeGreaterThan(35);
  const headings = new Set([...eventsReference().matchAll(/^### `([\w.]+)`$/gm)].map(([, type]) => type));
  expect(types.filter((type) => !headings.has(type))).toEqual([]);
});

it("docs/reference/http.md has every route", () => {
  const routes = [...sources("src")]
    .filter(([file]) => /^src\/host\/routes\/(?!a2a|console)/.test(file))
    .flatMap(([, text]) => [...text.matchAll(/\bapp\.(get|post|put|delete)\(\s*"([^"]+)"/g)])
    .map(([, method = "", path]) => `| \`${method.toUpperCase()} ${path}\` |`);
  expect(routes.length).toBeGreaterThan(12);
  const page = httpReference();
  expect(routes.filter((route) => !page.includes(route))).toEqual([]);
});
