import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What this process holds of the machine. */
export interface Holdings {
  /** Open files, sockets and pipes; 0 where the machine does not tell. */
  readonly files: number;
  readonly sockets: number;
  readonly servers: number;
  readonly children: number;
  /** Listeners on `process`, by event. */
  readonly listeners: Readonly<Record<string, number>>;
}

/** Looks at what this process holds now. */
export function holdings(): Holdings {
  const resources = process.getActiveResourcesInfo();
  const count = (kind: string) => resources.filter((name) => name === kind).length;
  return {
    files: list("/proc/self/fd").length,
    sockets: count("TCPSocketWrap"),
    servers: count("TCPServerWrap"),
    children: count("ProcessWrap"),
    listeners: Object.fromEntries(
      process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    ),
  };
}

/** Processes whose working directory is `directory` or was, whoever their parent is by now. */
export function processesIn(directory: string): number[] {
  return list("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        if (/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) return false;
        return readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, "") === directory;
      } catch {
        return false;
      }
    });
}

/** Bytes of the heap that are still reachable. */
export function reachableBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Looks again until `look` gives what is `wanted`, for what the kernel tells late. Gives the last look. */
export async function settled<T>(look: () => T, wanted: (seen: T) => boolean): Promise<T> {
  let seen = look();
  for (let turns = 0; turns < 20_000 && !wanted(seen); turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    seen = look();
  }
  return seen;
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
