import { expect, it } from "vitest";
import { TroupeError } from "../../src/core/errors.js";
import { parseRequest, requestText } from "../../src/delegation/request.js";
import { FUZZ_LIMIT_MS, fuzz, must } from "./fuzz.js";

const INPUT = {
  agent: "research",
  objective: "Find out",
  input: {
    prompt: "Look here.",
    context: "It is late.",
    artifacts: [{ name: "a.md", uri: "host://delegations/d/artifacts/a.md", mime_type: "text/markdown" }],
  },
  constraints: { timeout_seconds: 30, stream: true, max_artifacts: 3 },
};
const KNOWN = new Set(["agent", "objective", "input", "constraints"]);

it(
  "whatever a model passes is a request that holds nothing else, or invalid_input in a few words",
  async () => {
    let taken = 0;
    const inputs = await fuzz<unknown>({
      inputs: 200_000,
      generate: (random) => random.mutate(INPUT, 0.04),
      check(input) {
        let request: ReturnType<typeof parseRequest>;
        try {
          request = parseRequest(input);
        } catch (error) {
          must(error instanceof TroupeError && error.code === "invalid_input", "refuse with invalid_input");
          must(
            error.message.length <= 1_000 && error.message.length > 0 && !error.retryable,
            "say why, in short",
          );
          return;
        }
        taken++;
        must(
          Object.keys(request).every((key) => KNOWN.has(key)),
          "take no unknown member",
        );
        must(!request.agent.includes("://"), "take no URL for an agent");
        for (const { uri } of request.input?.artifacts ?? [])
          must(uri.startsWith("host://"), "take references of the host alone");
        const { timeout_seconds: seconds = 1, max_artifacts: artifacts = 0 } = request.constraints ?? {};
        must(
          seconds > 0 && seconds <= 86_400 && Number.isInteger(artifacts) && artifacts >= 0,
          "take bounds that are bounds",
        );
        must(requestText(request).startsWith(request.objective), "say the objective first");
      },
    });
    if (inputs > 1_000) expect(taken).toBeGreaterThan(inputs / 10);
  },
  FUZZ_LIMIT_MS,
);
