import { expect, it } from "vitest";
import { FakeRemote } from "../../test/support/fake-remote.js";
import { TroupeError } from "../core/errors.js";
import { ManualClock } from "../testing/manual-clock.js";
import { ProbeWatch } from "./probe-watch.js";
import { RemoteRegistry } from "./registry.js";

it("asks who did not answer again, ever less often, nobody else, and not for ever after", async () => {
  const clock = new ManualClock();
  const [lost, well] = [new FakeRemote("lost"), new FakeRemote("well")];
  const { onDescribe } = lost;
  lost.onDescribe = () => Promise.reject(new TroupeError("agent_unavailable", "connection refused"));
  const registry = new RemoteRegistry([{ remote: lost }, { remote: well }], clock);
  const watch = new ProbeWatch(registry, clock, 1_000);
  expect(clock.pending).toBe(0);
  await registry.probe(1_000);
  const asked: number[] = [];
  for (let second = 1; second <= 240; second++) {
    const before = lost.described;
    await clock.advance(1_000);
    if (lost.described > before) asked.push(second);
  }
  expect(asked).toEqual([5, 15, 35, 75, 135, 195]);
  expect(well.described).toBe(1);
  lost.onDescribe = onDescribe;
  await clock.advance(15_000);
  expect(registry.state("lost")).toMatchObject({ status: "ready" });
  expect(clock.pending).toBe(0);
  lost.onDescribe = () => Promise.reject(new TroupeError("agent_unavailable", "connection refused"));
  await registry.describe("lost", new AbortController().signal).catch(() => undefined);
  expect(clock.pending).toBe(1);
  watch.close();
  expect(clock.pending).toBe(0);
});
