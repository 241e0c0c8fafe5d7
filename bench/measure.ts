import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { readSse } from "../dist/wire/sse-reader.js";

/** A row of the report. Numbers of one row come from one run; only ratios can be compared between machines. */
export interface Row {
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly troupe: number;
  readonly baseline: number;
  /** What the baseline is. */
  readonly against: string;
  /** Troupe / baseline. */
  readonly ratio: number;
}

export function row(
  name: string,
  what: string,
  unit: string,
  troupe: number,
  baseline: number,
  against: string,
): Row {
  return { name, what, unit, troupe, baseline, against, ratio: troupe / baseline };
}

/** The value below which `part` (0 to 1) of the values lie. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export const median = (values: readonly number[]) => percentile(values, 0.5);

/** A process of the benchmark. */
export interface Started {
  readonly url: string;
  /** Bytes of its heap and buffers, after a collection. */
  memory(): Promise<number>;
  stop(): void;
}

/** Starts a process; it tells its address when it is ready, and ends with its parent. */
export async function start(file: string, ...args: string[]): Promise<Started> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: ["--expose-gc", "--import", "tsx"],
  });
  const [{ url }] = await once(child, "message");
  return {
    url,
    async memory() {
      child.send("memory");
      const [{ memory }] = await once(child, "message");
      return memory;
    },
    stop: () => child.kill(),
  };
}

/** What arrived of a stream of deltas. */
export interface Arrivals {
  /** Milliseconds from sending to reading, a delta each. */
  readonly latencies: number[];
  /** When the first delta was sent, and the last one read, in milliseconds since the epoch. */
  readonly first: number;
  readonly last: number;
}

/** Deltas a second of what arrived at the same time. */
export function rateOf(all: readonly Arrivals[]): number {
  const count = all.reduce((sum, { latencies }) => sum + latencies.length, 0);
  const first = Math.min(...all.map(({ first }) => first));
  const last = Math.max(...all.map(({ last }) => last));
  return count / ((last - first) / 1_000);
}

const now = () => performance.timeOrigin + performance.now();

/** Reads a stream to its end, or to an event of a type, and takes the times out of the deltas, wherever they stand. */
export async function arrivals(
  response: Response,
  textOf: (event: never) => string | undefined,
  until?: string,
): Promise<Arrivals> {
  if (response.body === null || !response.ok) throw new Error(`status ${response.status}`);
  const latencies: number[] = [];
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  for await (const { data } of readSse(response.body, { maxEventBytes: 2 ** 26 })) {
    const event = JSON.parse(data);
    if (until !== undefined && event.type === until) break;
    const text = textOf(event as never);
    if (text === undefined) continue;
    last = now();
    for (const sent of text.split("|").slice(0, -1).map(Number)) {
      first = Math.min(first, sent);
      latencies.push(last - sent);
    }
  }
  return { latencies, first, last };
}
