import { ServerCallContext } from "@a2a-js/sdk/server";
import type { FaceCaller } from "./face-host.js";

/** Who calls, and how long. */
export interface FaceCall {
  readonly caller: FaceCaller;
  /** Where the caller reaches the agent. */
  readonly url: string;
  /** Aborts when nobody reads the answer any more. */
  readonly signal: AbortSignal;
  /** Those of the request. */
  readonly headers: Headers;
}

const KEY = "troupe.call";

/** The context of a call as the SDK's handlers carry it. */
export function contextOf(call: FaceCall, requestedVersion: string, tenant?: string): ServerCallContext {
  return new ServerCallContext({
    requestedVersion,
    state: new Map([[KEY, call]]),
    ...(tenant === undefined ? {} : { tenant }),
  });
}

/** The call of a context that {@link contextOf} made. */
export function callOf(context: ServerCallContext): FaceCall {
  const call = context.state.get(KEY);
  if (call === undefined) throw new TypeError("The context belongs to no call.");
  return call as FaceCall;
}
