import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import type { RemoteSignal } from "../../src/delegation/remote.js";
import { type Listener, listen } from "../../src/host/listener.js";
import { SseParser } from "../../src/wire/sse-reader.js";
import { reachableBytes } from "../leaks/machine.js";
import { AppBench } from "../support/app-bench.js";
import { deferred, settle } from "../support/deferred.js";
import { FINISHED } from "../support/fake-agent.js";

const DELTAS = 100_000;
/** Deltas between two looks of the slow reader. With a thousand a second it reads 10 kB/s. */
const STEP = 500;
const SLOW_BYTES = 5_000;

/** What a browser has of a stream, by a socket whose speed is ours to say. */
class Reader {
  readonly #parser = new SseParser({ maxEventBytes: 64 * 1_048_576 });
  readonly #over = deferred();
  #head: string | undefined = "";
  bytes = 0;
  frames = 0;
  text = "";
  terminals = 0;
  ended = false;

  private constructor(private readonly socket: Socket) {
    socket.on("error", () => undefined);
  }

  /** Asks for everything of the thread; reads nothing yet. */
  static async open({ port }: Listener): Promise<Reader> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    // HTTP/1.0 has no chunks, so that the body is the stream itself.
    socket.write("GET /threads/thread-1/events HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    return new Reader(socket);
  }

  /** Takes at most so many bytes, as far as there are any. */
  take(limit: number): void {
    const available = Math.min(limit, this.socket.readableLength);
    // A read of nothing makes the socket fetch from the kernel.
    const bytes: Buffer | null = this.socket.read(available);
    if (bytes !== null) this.#got(bytes);
  }

  /** From now on as fast as it can. */
  hurry(): void {
    this.socket.on("data", (bytes: Buffer) => this.#got(bytes));
  }

  /** Resolves when it has the run's terminal event. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  close(): void {
    this.socket.destroy();
  }

  #got(bytes: Buffer): void {
    this.bytes += bytes.length;
    let body = bytes;
    if (this.#head !== undefined) {
      this.#head += bytes.toString("latin1");
      const end = this.#head.indexOf("\r\n\r\n");
      if (end < 0) return;
      body = Buffer.from(this.#head.slice(end + 4), "latin1");
      this.#head = undefined;
    }
    for (const { data } of this.#parser.push(body)) {
      if (data === "") continue;
      this.frames++;
      const { type, name, value } = JSON.parse(data);
      if (name === "subagent.text.delta") this.text += value.delta;
      if (name === "subagent.finished") this.terminals++;
      if (type === "RUN_FINISHED") {
        this.ended = true;
        this.#over.resolve();
      }
    }
  }
}

it("100,000 deltas to a reader of 10 kB/s hold up nobody, fill no memory, and arrive to the letter", async () => {
  const end = deferred();
  const bench = new AppBench({}, { play: () => end.promise.then(() => FINISHED) });
  const listener = await listen(async (request) => bench.app.fetch(request), "127.0.0.1", 0);
  await (await bench.run()).body?.cancel();
  const slow = await Reader.open(listener);
  const fast = await Reader.open(listener);
  try {
    fast.hurry();
    const input = { agent: "research", objective: "Tell me a lot" };
    const delegations = bench.delegator.openRun({ thread: "/thread-1", runId: "run-1" });
    const answer = delegations.delegate(input, { tool: "delegate_to_agent", input });
    await bench.clock.advance(0);
    const task = bench.remote.tasks[0];
    task?.send({ type: "accepted", taskId: "task-1" });
    let said = "";
    let most = 0;
    const before = reachableBytes();
    for (let index = 0; index < DELTAS; index += STEP) {
      const signals = Array.from({ length: STEP }, (_, offset): RemoteSignal => {
        return { type: "text", messageId: "m", delta: `${index + offset}é ` };
      });
      for (const signal of signals) if (signal.type === "text") said += signal.delta;
      task?.send(...signals);
      while (bench.delegator.list({ thread: "/thread-1", runId: "run-1" })[0]?.growing.length !== said.length)
        await settle(1);
      slow.take(SLOW_BYTES);
      if (index % 10_000 === 0)
        most = Math.max(most, reachableBytes() + process.memoryUsage().external - before);
    }
    task?.send({ type: "completed" });
    expect((await answer).status).toBe("completed");
    end.resolve();
    await fast.over;

    // What was not yet read would be 26 MB more, if the host kept it ready.
    expect(most).toBeLessThan(30_000_000);
    // The fast one has it all while the slow one is still near the beginning.
    expect(slow.ended).toBe(false);
    expect(slow.bytes).toBeLessThan(fast.bytes / 10);
    expect([fast.terminals, fast.text === said]).toEqual([1, true]);

    slow.hurry();
    await slow.over;
    expect([slow.terminals, slow.text === said]).toEqual([1, true]);
    expect(slow.frames).toBeLessThan(fast.frames);
  } finally {
    slow.close();
    fast.close();
    await bench.runs.close();
    await bench.journal.close();
    await listener.close();
  }
}, 60_000);
