import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { describe, expect, test } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { checkedLookup } from "./checked-lookup.js";
import { createGuardedClient } from "./guarded-client.js";

/** Answers every name with these addresses, one set after the other. */
function answering(...sets: string[][]): LookupFunction {
  let asked = 0;
  return (_name, options, callback) => {
    const addresses = (sets[Math.min(asked++, sets.length - 1)] ?? []).map((address) => ({
      address,
      family: address.includes(":") ? 6 : 4,
    }));
    if (addresses.length === 0) callback(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), "");
    else if (options.all) callback(null, addresses);
    else callback(null, addresses[0]?.address ?? "", addresses[0]?.family);
  };
}

function look(name: string, addresses: string[], all: boolean): Promise<string | undefined> {
  return new Promise((resolve) => {
    checkedLookup(answering(addresses))(name, { all }, (error) =>
      resolve(error === null ? undefined : Object(error).code),
    );
  });
}

describe.each([true, false])("checkedLookup (all: %j)", (all) => {
  test.each([
    ["agent.example", "127.0.0.1"],
    ["agent.example", "127.8.8.8"],
    ["agent.example.", "::1"],
    ["agent.example", "0.0.0.0"],
    ["agent.example", "::"],
    ["agent.example", "::ffff:127.0.0.1"],
    ["agent.example", "169.254.169.254"],
    ["agent.example", "::ffff:169.254.169.254"],
    ["agent.example", "fe80::1"],
    ["localhost.agent.example", "127.0.0.1"],
    ["metadata.google.internal", "169.254.169.254"],
  ])("%s may not lead to %s", async (name, address) => {
    expect(await look(name, [address], all)).toBe("origin_refused");
    if (all) expect(await look(name, ["192.0.2.1", address], all)).toBe("origin_refused");
  });

  test.each([
    ["localhost", "127.0.0.1"],
    ["agent.localhost", "::1"],
    ["laptop", "127.0.1.1"],
    ["laptop.local", "127.0.1.1"],
    ["printer.local", "fe80::1"],
    ["agent.internal", "127.0.0.1"],
    ["agent.example", "192.0.2.1"],
    ["agent.example", "10.0.0.7"],
    ["agent.example", "2001:db8::1"],
  ])("%s may lead to %s", async (name, address) => {
    expect(await look(name, [address], all)).toBeUndefined();
  });
});

test("a name that is another address between two connections is not followed there, and nothing is sent", async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests++;
    response.end("inside");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://agent.example:${port}/`;
  const client = createGuardedClient({
    clock: new ManualClock(),
    origins: [url],
    // First it is nobody's, then this machine's.
    lookup: answering([], ["127.0.0.1"]),
  });
  await expect(client.request(url)).rejects.toMatchObject({ code: "unreachable" });
  await expect(client.request(url)).rejects.toMatchObject({
    code: "origin_refused",
    message: expect.stringContaining("agent.example"),
  });
  expect(requests).toBe(0);
  await client.close();
  const own = createGuardedClient({
    clock: new ManualClock(),
    origins: [`http://agent.test:${port}`],
    lookup: answering(["127.0.0.1"]),
  });
  expect(await (await own.request(`http://agent.test:${port}/`)).text()).toBe("inside");
  await own.close();
  server.close();
});
