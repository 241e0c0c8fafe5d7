import type { SendMessageRequest, StreamResponse, Task } from "@a2a-js/sdk";
import type { RemoteCaller } from "../../delegation/remote.js";

/** One thing that a remote said, in the shape of version 1.0 whichever version it speaks. */
export interface Delivery {
  readonly response: StreamResponse;
  /** Version 0.3 only: whether the stream ends with this. */
  readonly final?: boolean;
  /** A version 0.3 task without `kind`: its author keeps the whole answer so far in `status.message`. */
  readonly bare?: boolean;
}

/** What a call belongs to. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly delegationId?: string;
  readonly run?: RemoteCaller;
  /** W3C trace context, sent as the header of this name. */
  readonly traceparent?: string;
}

/** The protocol's operations on one interface of an agent. All reject with a WireError, an {@link RpcError} or an SDK error. */
export interface TaskChannel {
  stream(request: SendMessageRequest, call: CallOptions): AsyncGenerator<Delivery, void, undefined>;
  send(request: SendMessageRequest, call: CallOptions): Promise<Delivery>;
  subscribe(taskId: string, call: CallOptions): AsyncGenerator<Delivery, void, undefined>;
  get(taskId: string, call: CallOptions): Promise<Delivery & { readonly task: Task }>;
  cancel(
    taskId: string,
    metadata: Readonly<Record<string, unknown>>,
    call: CallOptions,
  ): Promise<Delivery & { readonly task: Task }>;
}

/** An error that a remote gave as JSON-RPC. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
    this.name = "RpcError";
  }
}
