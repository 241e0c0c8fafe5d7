import type { Delegator } from "../delegation/delegator.js";
import type { Listener } from "./listener.js";
import type { Runs } from "./runs.js";

/** Whether a host has anything to do, or anybody who may want something of it. */
export async function isBusy(
  runs: Runs,
  delegator: Delegator,
  listeners: readonly Listener[],
): Promise<boolean> {
  if (runs.active(() => true).length > 0) return true;
  const known = runs.threads(() => true).flat();
  if (known.some((record) => delegator.list(record).some(({ phase }) => phase !== "over"))) return true;
  const connections = await Promise.all(listeners.map((listener) => listener.connections()));
  return connections.some((count) => count > 0);
}
