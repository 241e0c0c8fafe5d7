import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { loadApi } from "../../src/telemetry/open-telemetry.js";

const loaded = (what: string): string[] =>
  JSON.parse(
    execFileSync(process.execPath, ["test/telemetry/loaded.js", what], { encoding: "utf8", timeout: 20_000 }),
  );

it.each(["off", "sideband"])("%s: nothing of OpenTelemetry is loaded", (what) => {
  expect(loaded(what)).toEqual([]);
});

it("where it is asked for, the API alone is", () => {
  const files = loaded("openTelemetry");
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !file.includes("@opentelemetry/api/"))).toEqual([]);
});

it("without the package it says what to install", async () => {
  const missing = () => Promise.reject(new Error("Cannot find package"));
  await expect(loadApi(missing)).rejects.toMatchObject({
    code: "capability_unsupported",
    message: expect.stringContaining("npm install @opentelemetry/api"),
  });
});
