import { resolve } from "node:path";
import { expect, it } from "vitest";
import { configurationReference } from "../../scripts/reference/configuration.js";
import { eventsReference } from "../../scripts/reference/events.js";
import { sources } from "./markdown.js";

it.each([
  ["configuration", configurationReference],
  ["events", eventsReference],
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
