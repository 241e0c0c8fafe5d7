import { afterEach, describe, expect, it, vi } from "vitest";
import { findChromium } from "./chromium.js";

afterEach(() => vi.unstubAllEnvs());

describe("finding a browser", () => {
  it("takes the one that TROUPE_CHROME names", async () => {
    vi.stubEnv("TROUPE_CHROME", process.execPath);
    expect(await findChromium()).toMatchObject({ executablePath: process.execPath });
  });

  it("says so when TROUPE_CHROME names nothing that runs, rather than taking another", async () => {
    vi.stubEnv("TROUPE_CHROME", "/nowhere/chrome");
    await expect(findChromium()).rejects.toThrow("TROUPE_CHROME names /nowhere/chrome");
  });
});
