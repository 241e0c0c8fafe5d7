import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ATTRIBUTE, METRIC } from "../../src/telemetry/conventions.js";
import { SIDEBAND_TRACE } from "../../src/telemetry/sideband-encoder.js";
import { TRACE } from "../../src/wire/trace.js";

const page = readFileSync("docs/telemetry.md", "utf8");

it("the page has every attribute, metric, trace artifact and span event", () => {
  const events =
    readFileSync("src/telemetry/run-trace.ts", "utf8") +
    readFileSync("src/telemetry/delegation-trace.ts", "utf8");
  const names = [
    ...Object.values({ ...ATTRIBUTE }),
    ...Object.values(METRIC),
    ...Object.values({ ...TRACE, ...SIDEBAND_TRACE }),
    ...[...events.matchAll(/(?:addEvent|tell)\(\s*"([\w.]+)"/g)].map(([, name = ""]) => name),
  ];
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

it("the page has every option of the sinks", () => {
  const options =
    readFileSync("src/telemetry/batch-queue.ts", "utf8").split("export interface BatchOptions")[1] ?? "";
  const members = [...(options.split("\n}")[0] ?? "").matchAll(/readonly (\w+)\?:/g)].map(
    ([, name = ""]) => name,
  );
  expect(members).toContain("closeMs");
  expect(members.filter((name) => name !== "clock" && !page.includes(`\`${name}\``))).toEqual([]);
});
