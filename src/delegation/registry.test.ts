import { describe, expect, it, vi } from "vitest";
import { FakeRemote } from "../../test/support/fake-remote.js";
import { TroupeError } from "../core/errors.js";
import { ManualClock } from "../testing/manual-clock.js";
import { RemoteRegistry } from "./registry.js";

function setup(...keys: string[]) {
  const clock = new ManualClock();
  const remotes = (keys.length === 0 ? ["research"] : keys).map((key) => new FakeRemote(key));
  const registry = new RemoteRegistry(
    remotes.map((remote) => ({ remote })),
    clock,
  );
  const [remote = new FakeRemote()] = remotes;
  return { clock, registry, remote, remotes };
}
const { signal } = new AbortController();

describe("keys", () => {
  it("S1 20.1: a key that is used twice is refused", () => {
    expect(() => setup("a", "a")).toThrow(/"a"/);
  });

  it.each(["", "-a", "a b", "a/b", "https://evil", "ä", "x".repeat(65)])("%j cannot be one", (key) => {
    expect(() => setup(key)).toThrow(TroupeError);
  });

  it("an unknown key is agent_not_found, and nobody is asked", async () => {
    const { registry, remote } = setup();
    await expect(registry.describe("unknown", signal)).rejects.toMatchObject({ code: "agent_not_found" });
    expect(remote.described).toBe(0);
    expect(registry.get("unknown")).toBeUndefined();
    expect(registry.get("__proto__")).toBeUndefined();
  });

  it("each remote has its own policy over the defaults", () => {
    const registry = new RemoteRegistry(
      [{ remote: new FakeRemote("a"), policy: { maxTimeoutMs: 5 } }, { remote: new FakeRemote("b") }],
      new ManualClock(),
    );
    expect(registry.get("a")?.policy).toMatchObject({ maxTimeoutMs: 5, maxArtifacts: 50 });
    expect(registry.get("b")?.policy.maxTimeoutMs).toBe(1_800_000);
  });
});

describe("what is known of a remote", () => {
  it("is nothing, then what it said; an unreachable one is remembered, and recovers", async () => {
    const { registry, remote } = setup();
    expect(registry.state("research")).toEqual({ key: "research", protocol: "a2a", status: "unknown" });
    remote.onDescribe = () => Promise.reject(new TroupeError("agent_unavailable", "connection refused"));
    await expect(registry.describe("research", signal)).rejects.toMatchObject({ code: "agent_unavailable" });
    expect(registry.state("research")).toMatchObject({
      status: "unreachable",
      problem: "connection refused",
    });
    remote.onDescribe = new FakeRemote().onDescribe;
    await registry.describe("research", signal);
    expect(registry.state("research")).toMatchObject({
      status: "ready",
      description: { name: "Research Agent" },
    });
    expect(registry.state("research")).not.toHaveProperty("problem");
  });

  it("a description that is known stays known while the remote is away", async () => {
    const { clock, registry, remote } = setup();
    await registry.describe("research", signal);
    remote.onDescribe = () => Promise.reject(new Error("gone"));
    await registry.describe("research", signal).catch(() => undefined);
    expect(registry.state("research")).toMatchObject({
      status: "unreachable",
      description: { name: "Research Agent" },
    });
    remote.onDescribe = () => new Promise(() => undefined);
    const probing = registry.probe(1_000);
    await clock.advance(1_000);
    await probing;
    expect(registry.state("research")).toMatchObject({
      status: "unreachable",
      problem: "No answer within 1000 ms.",
      description: { name: "Research Agent" },
    });
  });

  it("a question that the asker took back says nothing about the remote", async () => {
    const { registry, remote } = setup();
    const controller = new AbortController();
    remote.onDescribe = async () => {
      controller.abort();
      throw new Error("aborted");
    };
    await registry.describe("research", controller.signal).catch(() => undefined);
    expect(registry.state("research")?.status).toBe("unknown");
  });

  it("a listener hears of every new description, also of one without a fingerprint, and of nothing else", async () => {
    const { registry, remote } = setup();
    const changed = vi.fn();
    registry.onChange(changed);
    const description = { name: "R", description: "", skills: [], streaming: true };
    remote.onDescribe = async () => description;
    await registry.describe("research", signal);
    expect(changed).toHaveBeenCalledTimes(1);
    await registry.describe("research", signal);
    expect(changed).toHaveBeenCalledTimes(1);
    remote.onDescribe = async () => ({ ...description, fingerprint: "f2" });
    await registry.describe("research", signal);
    expect(changed).toHaveBeenCalledTimes(2);
    remote.onDescribe = () => Promise.reject(new Error("gone"));
    await registry.describe("research", signal).catch(() => undefined);
    expect(changed).toHaveBeenCalledTimes(2);
  });
});

describe("probing", () => {
  it("asks all at once, each for as long as is given; who is silent is unreachable, and is told to stop", async () => {
    const { clock, registry, remotes } = setup("a", "b", "c");
    const [, silent, failing] = remotes;
    let asked: AbortSignal | undefined;
    if (silent !== undefined)
      silent.onDescribe = (given) => {
        asked = given;
        return new Promise(() => undefined);
      };
    if (failing !== undefined) failing.onDescribe = () => Promise.reject(new Error("no"));
    const probing = registry.probe(5_000);
    await clock.advance(4_999);
    expect(asked?.aborted).toBe(false);
    await clock.advance(1);
    expect((await probing).map(({ key, status }) => [key, status])).toEqual([
      ["a", "ready"],
      ["b", "unreachable"],
      ["c", "unreachable"],
    ]);
    expect(asked?.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("closing closes every remote, also when one fails at it", async () => {
    const { registry, remotes } = setup("a", "b");
    const [first, second] = remotes;
    if (first !== undefined) first.close = () => Promise.reject(new Error("no"));
    await registry.close();
    expect(second?.closed).toBe(true);
  });
});

describe("replace", () => {
  it("keeps what is known of who stays, forgets who goes, and tells both who listens and the caller", async () => {
    const { registry, remotes } = setup("a", "b");
    const [a = new FakeRemote(), b] = remotes;
    await registry.probe(1_000);
    const part = registry.forTenant("t");
    const heard = vi.fn();
    registry.onChange(heard);
    const version = registry.version;
    const other = new FakeRemote("b");
    expect(registry.replace([{ remote: other }, { remote: a, policy: { maxArtifacts: 1 } }])).toEqual([b]);
    expect(heard).toHaveBeenCalledTimes(1);
    expect(registry.version).toBeGreaterThan(version);
    expect(registry.states().map(({ key, status }) => [key, status])).toEqual([
      ["b", "unknown"],
      ["a", "ready"],
    ]);
    expect(registry.get("a")?.policy.maxArtifacts).toBe(1);
    expect(registry.replace([{ remote: a }])).toEqual([other]);
    expect(part.keys()).toEqual(["a"]);
    expect(registry.forTenant("t").keys()).toEqual(["a"]);
  });

  it("what cannot be used changes nothing", () => {
    const { registry } = setup("a");
    const twice = [{ remote: new FakeRemote("b") }, { remote: new FakeRemote("b") }];
    expect(() => registry.replace(twice)).toThrow(/"b"/);
    expect(registry.keys()).toEqual(["a"]);
  });

  it("a late word of who has gone is not taken for one of who came", async () => {
    const { registry, remote } = setup("a");
    let answer = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { onDescribe } = remote;
    remote.onDescribe = async (asked) => {
      await late;
      return onDescribe(asked);
    };
    const asked = registry.describe("a", signal);
    registry.replace([{ remote: new FakeRemote("a") }]);
    answer();
    await asked;
    expect(registry.state("a")).toMatchObject({ status: "unknown" });
  });
});
