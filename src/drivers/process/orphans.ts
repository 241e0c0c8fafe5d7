import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { Clock } from "../../core/clock.js";

/** By this variable the processes of a run are found when the host that started them is gone; their children have it as well. */
const VARIABLE = "TROUPE_RUN";

/** How long a process may take to end when it is told to, in milliseconds. */
const GRACE_MS = 2_000;

/** A run, by the host's names. */
export interface MarkedRun {
  readonly thread?: string;
  readonly runId: string;
}

/** What marks the processes of a run. */
export function markOf(run: MarkedRun): Readonly<Record<string, string>> {
  return { [VARIABLE]: hash(run) };
}

/**
 * Ends processes of runs whose host is gone, on this machine and of this user: first gently. Only where the system shows the
 * environment of processes (Linux); elsewhere programs end because their standard input does. Never rejects.
 */
export async function endOrphans(runs: readonly MarkedRun[], clock: Clock): Promise<void> {
  if (runs.length === 0) return;
  const marks = new Set(runs.map((run) => `${VARIABLE}=${hash(run)}`));
  const told = await signalAll(marks, "SIGTERM");
  if (told > 0) clock.timer(GRACE_MS, () => void signalAll(marks, "SIGKILL"));
}

async function signalAll(marks: ReadonlySet<string>, signal: NodeJS.Signals): Promise<number> {
  const ids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  let signalled = 0;
  for (const id of ids) {
    // Processes of other users cannot be read, and some are gone by now.
    const environment = await readFile(`/proc/${id}/environ`, "latin1").catch(() => "");
    if (!environment.split("\0").some((variable) => marks.has(variable))) continue;
    try {
      process.kill(Number(id), signal);
      signalled++;
    } catch {
      // It was quicker.
    }
  }
  return signalled;
}

function hash({ thread = "", runId }: MarkedRun): string {
  return createHash("sha256").update(`${thread}\0${runId}`).digest("hex").slice(0, 32);
}
