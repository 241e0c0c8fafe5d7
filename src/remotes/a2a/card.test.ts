import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Card, parseCard } from "./card.js";
import { chooseInterface } from "./card-interface.js";
import type { A2aOptions } from "./options.js";

const modern = { url: "https://a.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" };

function card(members: object): Card {
  const parsed = parseCard(JSON.stringify(members));
  if (!parsed) throw new Error("no card");
  return parsed;
}

describe("parseCard", () => {
  test("reads a card of version 1.0", () => {
    const raw = JSON.stringify({
      name: "A",
      description: "B",
      supportedInterfaces: [
        { ...modern, protocolBinding: "jsonrpc", tenant: "t" },
        { url: "https://a.example/g", protocolBinding: "GRPC" },
      ],
      capabilities: { streaming: true, extensions: [{ uri: "urn:x", required: true }, { uri: "urn:y" }] },
      skills: [{ id: "s", name: "S", description: "D", tags: ["t"] }],
      future: {},
    });
    expect(parseCard(raw)).toEqual({
      name: "A",
      description: "B",
      skills: [{ id: "s", name: "S", description: "D" }],
      streaming: true,
      requiredExtensions: ["urn:x"],
      interfaces: [
        { url: "https://a.example/rpc", binding: "JSONRPC", version: "1.0", tenant: "t" },
        { url: "https://a.example/g", binding: "GRPC", version: "1.0", tenant: "" },
      ],
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(parseCard(raw.replace('"B"', '"C"'))?.fingerprint).not.toBe(parseCard(raw)?.fingerprint);
  });

  test.each([undefined, "0.2.0", "0.3.0", "1.0", "banana"])(
    "a top-level url is the old shape, also with protocolVersion %j",
    (protocolVersion) => {
      expect(card({ url: "https://a.example/", protocolVersion }).interfaces).toEqual([
        { url: "https://a.example/", binding: "JSONRPC", version: "0.3", tenant: "" },
      ]);
    },
  );

  test("a merged card offers both", () => {
    const { interfaces } = card({
      url: "https://a.example/old",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [
        { url: "https://a.example/old", transport: "JSONRPC" },
        { url: "https://a.example/rest", transport: "HTTP+JSON" },
      ],
      supportedInterfaces: [
        modern,
        { ...modern, protocolVersion: "0.3" },
        { ...modern, protocolVersion: "2.0" },
      ],
    });
    expect(interfaces.map(({ binding, version }) => `${binding} ${version}`)).toEqual([
      "JSONRPC 1.0",
      "JSONRPC 0.3",
      "JSONRPC unknown",
      "JSONRPC 0.3",
      "HTTP+JSON 0.3",
    ]);
  });

  test("members of the wrong type cost themselves, not the card", () => {
    const odd = {
      name: 7,
      supportedInterfaces: [null, "x", { url: 5 }, modern],
      capabilities: { streaming: "yes", extensions: {} },
      skills: [{ id: "" }, { name: "no id" }, { id: "ok", name: null }],
    };
    expect(card(odd)).toMatchObject({
      name: "",
      streaming: false,
      skills: [{ id: "ok", name: "", description: "" }],
      interfaces: [{ url: modern.url }],
    });
    expect(card({ ...odd, capabilities: null, skills: "none" })).toMatchObject({
      streaming: false,
      skills: [],
    });
  });

  test("whatever JSON it is, it is a card or not", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom("supportedInterfaces", "capabilities", "skills", "url"),
        (value, member) => {
          for (const json of [value, { ...modern, [member]: value }]) {
            const text = JSON.stringify(json);
            fc.pre(!/\d{16}|__proto__/.test(text));
            expect(() => parseCard(text)).not.toThrow();
          }
        },
      ),
    );
    for (const text of ["null", "[]", "{}", '"x"', '{"name":"x","supportedInterfaces":[]}']) {
      expect(parseCard(text)).toBeUndefined();
    }
  });
});

describe("chooseInterface", () => {
  const options: A2aOptions = {
    name: "research",
    agentCardUrl: "https://a.example/.well-known/agent-card.json",
  };
  const choose = (members: object, more: Partial<A2aOptions> = {}) =>
    chooseInterface(card(members), more.agentCardUrl ?? options.agentCardUrl, { ...options, ...more });

  test("case 063: takes the best binding and version, not the first", () => {
    const rest = { ...modern, protocolBinding: "HTTP+JSON" };
    const old = { ...modern, protocolVersion: "0.3.0" };
    const unusable = [
      { ...modern, protocolBinding: "GRPC" },
      { ...modern, protocolVersion: "2.0" },
      { ...rest, protocolVersion: "0.3" },
    ];
    const chosen = (...supportedInterfaces: object[]) => {
      const { binding, version } = choose({ supportedInterfaces });
      return `${binding} ${version}`;
    };
    expect(chosen(...unusable, old, rest, modern)).toBe("JSONRPC 1.0");
    expect(chosen(...unusable, old, rest)).toBe("HTTP+JSON 1.0");
    expect(chosen(...unusable, old)).toBe("JSONRPC 0.3");
    expect(() => chosen(...unusable)).toThrowError(
      expect.objectContaining({
        code: "capability_unsupported",
        message: expect.stringContaining("GRPC 1.0"),
      }),
    );
  });

  test("case 066: an interface elsewhere is refused, one at home is preferred, a trusted one is taken", () => {
    const away = { ...modern, url: "https://evil.example/rpc" };
    expect(() => choose({ supportedInterfaces: [away] })).toThrowError(
      expect.objectContaining({
        code: "policy_denied",
        message: expect.stringContaining("https://evil.example/rpc"),
      }),
    );
    expect(choose({ supportedInterfaces: [away, modern] }).url).toBe(modern.url);
    expect(choose({ supportedInterfaces: [away] }, { trustedOrigins: ["https://evil.example"] }).url).toBe(
      away.url,
    );
    expect(() => choose({ supportedInterfaces: [{ ...modern, url: "http://a.example/rpc" }] })).toThrowError(
      expect.objectContaining({ code: "policy_denied" }),
    );
  });

  test("localhost and 127.0.0.1 are the same place; relative URLs are resolved against the card", () => {
    const agentCardUrl = "http://127.0.0.1:4000/x/.well-known/agent-card.json";
    expect(choose({ url: "http://localhost:4000/rpc" }, { agentCardUrl }).url).toBe(
      "http://localhost:4000/rpc",
    );
    expect(choose({ url: "/rpc" }, { agentCardUrl }).url).toBe("http://127.0.0.1:4000/rpc");
    expect(() => choose({ url: "http://localhost:41241/" }, { agentCardUrl })).toThrowError(
      expect.objectContaining({ code: "policy_denied" }),
    );
  });

  test("endpointUrlOverride: a card's URL moves the interfaces to its origin, any other is the endpoint", () => {
    const wrongPort = {
      supportedInterfaces: [{ ...modern, url: "http://localhost:41241/a/rpc?x=1", tenant: "t" }],
    };
    expect(
      choose(wrongPort, { endpointUrlOverride: "https://internal.local/.well-known/agent-card.json" }),
    ).toEqual({
      url: "https://internal.local/a/rpc?x=1",
      binding: "JSONRPC",
      version: "1.0",
      tenant: "t",
    });
    expect(choose(wrongPort, { endpointUrlOverride: "https://internal.local/rpc" }).url).toBe(
      "https://internal.local/rpc",
    );
  });

  test("extensions that the agent requires and we do not know are refused, and named", () => {
    const members = {
      supportedInterfaces: [modern],
      capabilities: { extensions: [{ uri: "urn:pay", required: true }] },
    };
    expect(() => choose(members)).toThrowError(
      expect.objectContaining({
        code: "capability_unsupported",
        message: expect.stringContaining("urn:pay"),
      }),
    );
  });
});
