import fc from "fast-check";

// Each property is tried a thousand times where nobody waits for it.
fc.configureGlobal({ numRuns: process.env.CI === undefined ? 100 : 1_000 });
