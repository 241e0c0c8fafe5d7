import type { Cursor } from "../journal/journal.js";
import type { ClientError } from "./client-error.js";

/** What a resuming stream is doing. */
export type StreamState =
  /** The first connection is being made. */
  | { readonly status: "connecting" }
  /** What happened before is being read. */
  | { readonly status: "replaying" }
  /** Everything known was read; events arrive as they happen. */
  | { readonly status: "live" }
  /** The connection was lost. `from` is the cursor it goes on after; `attempt` counts from 1. */
  | {
      readonly status: "reconnecting";
      readonly from?: Cursor;
      readonly attempt: number;
      readonly reason: string;
    }
  /** It is over: left by its reader, or for good by `error`. */
  | { readonly status: "ended"; readonly error?: ClientError };
