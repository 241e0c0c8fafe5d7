/** What a command's exit code tells. */
export const EXIT = {
  done: 0,
  /** The run failed. */
  failed: 1,
  /** Bad usage or config. */
  usage: 2,
  /** Cancelled, as by Ctrl-C. */
  cancelled: 130,
} as const;
