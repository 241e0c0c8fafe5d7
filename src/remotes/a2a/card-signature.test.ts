import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AgentCard, canonicalizeAgentCard, generateAgentCardSignature } from "@a2a-js/sdk";
import { afterEach, describe, expect, test } from "vitest";
import { a2a } from "./a2a.js";
import { checkSignature } from "./card-signature.js";
import type { A2aOptions } from "./options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = { ...publicKey.export({ format: "jwk" }), kid: "k1" };
const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });

const plain = (url: string) => ({
  name: "A",
  description: "Signed",
  version: "1",
  capabilities: { streaming: true },
  supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
  skills: [],
});

async function signed(url: string, by: KeyObject = privateKey): Promise<ReturnType<typeof plain>> {
  const jwk = by.export({ format: "jwk" });
  const signer = generateAgentCardSignature(jwk, { alg: "ES256", kid: "k1", typ: "JOSE" });
  return (await signer(plain(url) as unknown as AgentCard)) as unknown as ReturnType<typeof plain>;
}

describe("checkSignature", () => {
  test("what the SDK signs verifies; a change, another key, another name or no key does not", async () => {
    const card = await signed("http://a.example");
    expect(checkSignature(card, [key])).toBe("valid");
    expect(checkSignature({ ...card, description: "Changed" }, [key])).toBe("invalid");
    // The typed form would leave the schemes out.
    expect(checkSignature({ ...card, securitySchemes: {} }, [key])).toBe("invalid");
    expect(checkSignature(await signed("http://a.example", stranger.privateKey), [key])).toBe("invalid");
    expect(checkSignature(card, [{ ...key, kid: "k2" }])).toBe("invalid");
    expect(checkSignature(card, [])).toBe("invalid");
    expect(checkSignature(plain("http://a.example"), [key])).toBe("absent");
  });

  test.each<[string, object]>([
    ["none", { alg: "none", kid: "k1" }],
    ["a shared secret", { alg: "HS256", kid: "k1" }],
    ["another key type", { alg: "RS256", kid: "k1" }],
    ["a critical extension", { alg: "ES256", kid: "k1", crit: ["x"] }],
  ])("algorithm trick: %s", (_name, header) => {
    const card = plain("http://a.example");
    const encoded = Buffer.from(JSON.stringify(header)).toString("base64url");
    const payload = Buffer.from(canonicalizeAgentCard(card as unknown as AgentCard)).toString("base64url");
    const signature = sign("sha256", Buffer.from(`${encoded}.${payload}`), {
      key: privateKey,
      dsaEncoding: "ieee-p1363",
    });
    const entry = { protected: encoded, signature: signature.toString("base64url") };
    expect(checkSignature({ ...card, signatures: [entry] }, [key])).toBe("invalid");
  });

  test.each([null, 1, [], { signatures: [null, 1, {}, { protected: "%%", signature: "x" }] }])(
    "%j does no harm",
    (card) => {
      expect(["absent", "invalid"]).toContain(checkSignature(card, [key]));
    },
  );
});

describe("the policy", () => {
  async function describeWith(make: (url: string) => Promise<object> | object, more: Partial<A2aOptions>) {
    const server = createServer(async (_request, response) => {
      response.end(JSON.stringify(await make(url)));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url: string = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const agent = a2a({ name: "research", agentCardUrl: url, ...more });
    cleanups.push(
      () => agent.close(),
      () => server.close(),
    );
    return agent.describe(new AbortController().signal);
  }
  const keys = { signatureKeys: [key] };

  test("required: an unsigned or changed card is refused, a good one is taken", async () => {
    const required = { ...keys, signature: "required" as const };
    await expect(describeWith(plain, required)).rejects.toMatchObject({ code: "policy_denied" });
    const changed = async (url: string) => ({ ...(await signed(url)), name: "B" });
    await expect(describeWith(changed, required)).rejects.toMatchObject({ code: "policy_denied" });
    expect((await describeWith(signed, required)).name).toBe("A");
  });

  test("if present, which is the default with keys: a bad signature is refused, none is taken", async () => {
    expect((await describeWith(plain, keys)).name).toBe("A");
    await expect(describeWith((url) => signed(url, stranger.privateKey), keys)).rejects.toMatchObject({
      code: "policy_denied",
    });
    expect((await describeWith((url) => signed(url, stranger.privateKey), {})).name).toBe("A");
    expect(
      (await describeWith((url) => signed(url, stranger.privateKey), { ...keys, signature: "off" })).name,
    ).toBe("A");
  });

  test("a URL that the signature does not cover is not called", async () => {
    const { supportedInterfaces: _left, ...rest } = plain("http://a.example");
    const signer = generateAgentCardSignature(privateKey.export({ format: "jwk" }), {
      alg: "ES256",
      kid: "k1",
      typ: "JOSE",
    });
    const covered = (await signer(rest as unknown as AgentCard)) as unknown as object;
    await expect(
      describeWith((url) => ({ ...covered, url: `${url}/elsewhere` }), { ...keys, signature: "required" }),
    ).rejects.toMatchObject({
      code: "agent_unavailable",
      message: expect.stringContaining("not an agent card"),
    });
  });

  test("required without keys is a mistake that is told at once", () => {
    expect(() => a2a({ name: "x", agentCardUrl: "http://a.example/", signature: "required" })).toThrowError(
      expect.objectContaining({ code: "invalid_input" }),
    );
  });
});

test("a changed card has another fingerprint", async () => {
  let description = "one";
  const server = createServer((_request, response) =>
    response.end(JSON.stringify({ ...plain("http://127.0.0.1:1"), description })),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const agent = a2a({
    name: "research",
    agentCardUrl: `http://127.0.0.1:${port}`,
    endpointUrlOverride: `http://127.0.0.1:${port}/rpc`,
    limits: { cardMaxAgeMs: 0 },
  });
  cleanups.push(
    () => agent.close(),
    () => server.close(),
  );
  const look = async () => (await agent.describe(new AbortController().signal)).fingerprint;
  const before = await look();
  expect(await look()).toBe(before);
  description = "two";
  expect(await look()).not.toBe(before);
});
