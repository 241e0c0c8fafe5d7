import { ask, Fleet, get, type HostProcess, post } from "../support/fleet.js";
import { type Frame, framesOf } from "../support/frames.js";
import { cutAfter, type Schedule } from "./schedule.js";

/** How long a run may take until it is over, in milliseconds, however it is ended. */
const PATIENCE_MS = 40_000;

/** What became of a run. */
export interface Outcome {
  readonly threadId: string;
  readonly runId: string;
  readonly status: string;
  readonly delegations: readonly { readonly status: string; readonly delegationId: string }[];
  /** What a browser saw, across its connections. */
  readonly seen: readonly Frame[];
  /** What is on record at the end. */
  readonly record: readonly Frame[];
  /** Messages that the remote got. */
  readonly sent: number;
}

/** Two hosts on one Redis; one that was killed is replaced. */
export class Pair implements AsyncDisposable {
  #one: Promise<HostProcess>;
  #two: Promise<HostProcess>;

  private constructor(
    private readonly fleet: Fleet,
    readonly onRunEnd: Schedule["onRunEnd"],
  ) {
    this.#one = fleet.host();
    this.#two = fleet.host();
  }

  static async start(onRunEnd: Schedule["onRunEnd"]): Promise<Pair> {
    const options = { policy: { onRunEnd, cancelTimeoutMs: 2_000 }, leaseMs: 700, takeoverMs: 200 };
    return new Pair(await Fleet.start(options, { paceMs: 25 }), onRunEnd);
  }

  /** Runs a schedule to its end. */
  async play(schedule: Schedule): Promise<Outcome> {
    const [runner, reader] = await Promise.all([this.#one, this.#two]);
    const before = await this.fleet.sent();
    // A stream of the schedule before may have been too short to be cut.
    this.fleet.proxy.cutAfter(schedule.fault === "cut the remote's stream" ? cutAfter(schedule) : undefined);
    const { threadId, runId, response } = await ask(runner, schedule.prompt);
    // Who asked is gone; a browser reads at the other host.
    void response.body?.cancel().catch(() => undefined);
    const browser = new Browser(threadId);
    const closing = new AbortController();
    let injected: Promise<void> | undefined;
    const reading = browser.follow(
      async () => (await Promise.all([this.#two, this.#one]))[0],
      closing.signal,
      (count) => {
        if (count >= schedule.after) injected ??= this.#inject(schedule, { runner, reader, runId, browser });
      },
    );
    const anybody = async () => (await Promise.all([this.#one, this.#two]))[1];
    const isOver = async () => {
      const host = await anybody();
      const run = await get(host, `/runs/${runId}`).catch(() => undefined);
      if (run === undefined || run.error?.code === "internal" || run.status === "running") return undefined;
      const { delegations } = await get(host, `/runs/${runId}/delegations`);
      const open = delegations.some(
        ({ status }: { status: string }) => !/^(?:completed|failed|cancelled)$/.test(status),
      );
      return open ? undefined : { status: run.status, delegations };
    };
    const until = performance.now() + PATIENCE_MS;
    let over = await isOver();
    while (over === undefined) {
      if (performance.now() > until) throw new Error(`It does not end: ${await this.#told(runId, browser)}`);
      await browser.news();
      over = await isOver();
    }
    await injected;
    const host = await anybody();
    const record: Frame[] = [];
    for await (const frame of framesOf(await post(host, `/threads/${threadId}/connect`))) record.push(frame);
    await browser.reaches(record.findLast(({ id }) => id !== undefined)?.id ?? "0");
    closing.abort();
    await reading;
    return {
      threadId,
      runId,
      ...over,
      seen: browser.frames,
      record,
      sent: (await this.fleet.sent()) - before,
    };
  }

  /** What the hosts say of a run, and what a browser saw of it. */
  async #told(runId: string, browser: Browser): Promise<string> {
    const hosts = await Promise.all([this.#one, this.#two]);
    const told = hosts.map(async (host) => ({
      run: await get(host, `/runs/${runId}`).catch(String),
      delegations: await get(host, `/runs/${runId}/delegations`).catch(String),
      log: host.stderr.slice(-2_000),
    }));
    return JSON.stringify({ hosts: await Promise.all(told), seen: browser.frames.slice(-8) });
  }

  async #inject(
    { fault }: Schedule,
    {
      runner,
      reader,
      runId,
      browser,
    }: { runner: HostProcess; reader: HostProcess; runId: string; browser: Browser },
  ): Promise<void> {
    switch (fault) {
      case "kill the host that runs it":
        this.#one = this.fleet.host();
        return this.fleet.kill(runner);
      case "kill the host that is read":
        this.#two = this.fleet.host();
        return this.fleet.kill(reader);
      case "freeze the host that runs it beyond its lease": {
        runner.child.kill("SIGSTOP");
        // Nobody waits for it, so it is thawed when the other one has said that the run is over.
        while ((await get(reader, `/runs/${runId}`)).status === "running") await browser.news();
        runner.child.kill("SIGCONT");
        return;
      }
      case "restart Redis":
        return this.fleet.redis.restart();
      case "cancel the run at the other host":
        await post(reader, `/runs/${runId}/cancel`);
        return;
      case "cancel the delegation at the other host":
        for (const { delegationId } of (await get(reader, `/runs/${runId}/delegations`)).delegations)
          await post(reader, `/delegations/${delegationId}/cancel`);
        return;
      default:
        return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.#one, this.#two]);
    await this.fleet[Symbol.asyncDispose]();
  }
}

/** Reads a thread at whichever host is there, and goes on where it stopped. */
class Browser {
  readonly frames: Frame[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(private readonly threadId: string) {}

  get #last(): string {
    return this.frames.findLast(({ id }) => id !== undefined)?.id ?? "0";
  }

  async follow(
    hostOf: () => Promise<HostProcess>,
    signal: AbortSignal,
    onFrame: (count: number) => void,
  ): Promise<void> {
    while (!signal.aborted) {
      try {
        const { url } = await hostOf();
        const headers = { "last-event-id": this.#last };
        const response = await fetch(`${url}/threads/${this.threadId}/events`, { headers, signal });
        for await (const frame of framesOf(response)) {
          this.frames.push(frame);
          onFrame(this.frames.length);
          this.#wake();
        }
      } catch {
        // The host is gone, or Redis: the next connection goes on.
        this.#wake();
      }
    }
  }

  /** Resolves when something happened, or after a moment in which nothing did. */
  news(): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, 50);
      this.#waiting.add(wake);
    });
  }

  async reaches(cursor: string): Promise<void> {
    while (Number(this.#last) < Number(cursor)) await this.news();
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
