import { expect, it } from "vitest";
import { TroupeError } from "../../src/core/errors.js";
import { parseCard } from "../../src/remotes/a2a/card.js";
import { chooseInterface } from "../../src/remotes/a2a/card-interface.js";
import { Veil } from "../../src/remotes/http/veil.js";
import { WireError } from "../../src/wire/errors.js";
import { comparableOrigin } from "../../src/wire/origin.js";
import { createRedactor } from "../../src/wire/redact.js";
import { FUZZ_LIMIT_MS, fuzz, must } from "./fuzz.js";

const ORIGIN = "https://agents.example";
const CARD_URL = `${ORIGIN}/.well-known/agent-card.json`;
const CARD = {
  name: "Research",
  description: "Finds things out.",
  version: "1.0.0",
  protocolVersion: "0.3.0",
  url: `${ORIGIN}/rpc`,
  preferredTransport: "JSONRPC",
  additionalInterfaces: [{ url: `${ORIGIN}/rest`, transport: "HTTP+JSON" }],
  supportedInterfaces: [
    { url: `${ORIGIN}/a2a/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "acme" },
    { url: "/a2a/rest", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, extensions: [{ uri: "https://x.example/e", required: false }] },
  skills: [{ id: "find", name: "Find", description: "Finds.", tags: ["a"], inputSchema: { type: "object" } }],
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
};
const OPTIONS = { name: "research", agentCardUrl: CARD_URL };
const veil = new Veil(createRedactor(["a-credential"]));

it(
  "any agent card is read, or refused with a typed error, and never leads away from the entry's origin",
  async () => {
    let usable = 0;
    const inputs = await fuzz<string>({
      // As many as fit into eight seconds.
      inputs: 200_000,
      generate(random) {
        const raw = JSON.stringify(random.mutate(CARD)) ?? "";
        if (!random.chance(0.1)) return raw;
        const place = random.below(raw.length);
        return raw.slice(0, place) + random.text() + raw.slice(place + random.below(3));
      },
      check(raw) {
        let card: ReturnType<typeof parseCard>;
        try {
          card = parseCard(raw);
        } catch (error) {
          must(error instanceof WireError && error.code === "malformed", "refuse with `malformed`");
          return;
        }
        if (card === undefined) return;
        must(card.interfaces.length > 0, "name a way to call the agent");
        must(/^[0-9a-f]{64}$/.test(card.fingerprint), "have a fingerprint");
        for (const { id, name, description } of card.skills)
          must(
            typeof id === "string" &&
              id !== "" &&
              typeof name === "string" &&
              typeof description === "string",
            "have whole skills",
          );
        for (const { url, binding, version } of card.interfaces) {
          must(typeof url === "string" && binding === binding.toUpperCase(), "have whole interfaces");
          must(version === "1.0" || version === "0.3" || version === "unknown", "have a known generation");
        }
        veil.card(card);
        try {
          const chosen = chooseInterface(card, CARD_URL, OPTIONS);
          must(comparableOrigin(chosen.url) === ORIGIN, "stay at the entry's origin");
          usable++;
        } catch (error) {
          must(
            error instanceof TroupeError && /^(capability_unsupported|policy_denied)$/.test(error.code),
            "refuse with a typed error",
          );
          must(error.message.length < 2_000, "keep its error short");
        }
      },
    });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    if (inputs > 1_000) expect(usable).toBeGreaterThan(inputs / 10);
  },
  FUZZ_LIMIT_MS,
);
