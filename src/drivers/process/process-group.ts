/** Groups of this process's children that may still live. */
const groups = new Set<number>();
let watching = false;

/** Remembers a group, so that it does not outlive this process when that exits. A SIGKILL of this process cannot be seen. */
export function trackGroup(leader: number): void {
  groups.add(leader);
  if (watching) return;
  watching = true;
  process.on("exit", () => {
    for (const group of groups) signalGroup(group, "SIGKILL");
  });
}

/** The group is gone. */
export function forgetGroup(leader: number): void {
  groups.delete(leader);
}

/** Leaders of the groups that are tracked; for leak checks. */
export function trackedGroups(): readonly number[] {
  return [...groups];
}

/**
 * Signals every process of a group; signal `0` only looks.
 * @returns whether a process was there. Where there are no groups (Windows), only the leader is meant.
 */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(process.platform === "win32" ? leader : -leader, signal);
    return true;
  } catch (error) {
    // EPERM: there is a process, but it changed its user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
