import { readdirSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { ask, endsOf, type HostProcess } from "../support/fleet.js";
import { collect, subagentText } from "../support/frames.js";
import { Site, stop } from "./sole-host.js";

const READERS = 20;
/** Together 6 MB for each reader: more than the kernel holds for a connection. */
const RUNS = 3;
const LINE = `#say ${"x".repeat(2_000)}`;
const PROMPT = Array.from({ length: 300 }, () => LINE).join("\n");
/** What a busy host needs, and no more: if it kept for each of them what they do not read, it would die of it. */
const HEAP_MB = 110;

/** Asks for a thread's events and takes what comes first, and nothing more. */
function neverReading({ url }: HostProcess, threadId: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", reject);
    socket.once("data", () => {
      socket.pause();
      resolve(socket);
    });
    socket.write(`GET /threads/${threadId}/events HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`);
  });
}

/** Reads after all. @returns whether what it waits for came. */
async function readOn(socket: Socket, awaited: string): Promise<boolean> {
  let seen = "";
  for await (const piece of socket.setEncoding("utf8")) {
    seen = seen.slice(-awaited.length) + piece;
    if (seen.includes(awaited)) return true;
  }
  return false;
}

/** Sockets that a process has open. */
function socketsOf(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/fd`).filter((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
}

const problem = await whyNoSqlite();

describe.skipIf(problem !== undefined)(`readers that never read${problem ? ` (${problem})` : ""}`, () => {
  it("hold up nobody, and leave nothing behind when they are gone", async () => {
    await using site = await Site.start({ paceMs: 0 });
    const host = await site.host({ heapMb: HEAP_MB });
    const warm = await ask(host, "#say Hello.");
    await collect(warm.response);
    const threadId = "stalled";
    const stalled = await Promise.all(Array.from({ length: READERS }, () => neverReading(host, threadId)));
    for (let run = 0; run < RUNS; run++) {
      const { response } = await ask(host, PROMPT, { threadId, runId: `long-${run}` });
      const frames = await collect(response);
      expect(endsOf(frames)).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
      expect(subagentText(frames)).toHaveLength(300 * 2_000);
    }
    const during = socketsOf(host.child.pid);
    const late = stalled.pop();
    if (late !== undefined) expect(await readOn(late, `"runId":"long-${RUNS - 1}","result"`)).toBe(true);
    late?.destroy();
    for (const socket of stalled) socket.destroy();
    await expect.poll(() => socketsOf(host.child.pid)).toBeLessThanOrEqual(during - READERS);
    expect(await stop(host)).toBe(0);
  });

  it("do not hold up the end of the host", async () => {
    await using site = await Site.start({ paceMs: 0 });
    const host = await site.host();
    const { threadId, response } = await ask(host, "#chunks 500");
    const stalled = await Promise.all(Array.from({ length: READERS }, () => neverReading(host, threadId)));
    await collect(response);
    expect(await stop(host)).toBe(0);
    for (const socket of stalled) socket.destroy();
  });
});
