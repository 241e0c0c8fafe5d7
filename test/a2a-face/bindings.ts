import { allOf, type FaceBench, type Wire } from "./face-bench.js";

/** What an operation gave: its result, or the reason of its refusal (A2A 1.0, 9.5 and 11.6). */
export interface Answered {
  readonly value?: Wire;
  /** E.g. `TASK_NOT_FOUND`. */
  readonly reason?: string;
  /** The code of JSON-RPC, or the status of HTTP. */
  readonly code?: number;
}

/** The operations of A2A 1.0, however they travel. */
export interface Binding {
  readonly name: string;
  ask(
    bench: FaceBench,
    operation: Operation,
    params: Wire,
    headers?: Record<string, string>,
  ): Promise<Answered>;
  /** @returns the events of a stream when it has ended, or the refusal. */
  stream(bench: FaceBench, operation: Streamed, params: Wire): Promise<Answered>;
}

export type Operation =
  | "SendMessage"
  | "GetTask"
  | "ListTasks"
  | "CancelTask"
  | "GetExtendedAgentCard"
  | "CreateTaskPushNotificationConfig";
export type Streamed = "SendStreamingMessage" | "SubscribeToTask";

const JSON_RPC: Binding = {
  name: "JSON-RPC",
  async ask(bench, operation, params, headers) {
    return ofJsonRpc(await bench.ask(operation, params, headers));
  },
  async stream(bench, operation, params) {
    const response = await bench.call(operation, params);
    if (!isStream(response)) return ofJsonRpc(await response.json());
    return { value: await allOf(response) };
  },
};

const REST: Binding = {
  name: "HTTP+JSON",
  async ask(bench, operation, params, headers) {
    const response = await request(bench, operation, params, headers);
    return ofRest(await response.json(), response.status);
  },
  async stream(bench, operation, params) {
    const response = await request(bench, operation, params);
    if (!isStream(response)) return ofRest(await response.json(), response.status);
    return { value: await allOf(response) };
  },
};

export const BINDINGS: readonly Binding[] = [JSON_RPC, REST];

function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

function ofJsonRpc({ result, error }: Wire): Answered {
  if (error === undefined) return { value: result };
  return { reason: error.data?.[0]?.reason, code: error.code };
}

function ofRest(body: Wire, status: number): Answered {
  if (status === 200) return { value: body };
  return { reason: body.error.details?.[0]?.reason, code: status };
}

/** The paths of A2A 1.0, section 11.3. */
function request(
  bench: FaceBench,
  operation: Operation | Streamed,
  { id, taskId, ...params }: Wire,
  headers: Record<string, string> = {},
): Promise<Response> {
  const get = (path: string) => bench.fetch(path, { headers: { "a2a-version": "1.0", ...headers } });
  switch (operation) {
    case "SendMessage":
      return bench.post("/message:send", params, headers);
    case "SendStreamingMessage":
      return bench.post("/message:stream", params, headers);
    case "GetTask":
      return get(`/tasks/${id}?${new URLSearchParams(params)}`);
    case "ListTasks":
      return get(`/tasks?${new URLSearchParams(params)}`);
    case "CancelTask":
      return bench.post(`/tasks/${id}:cancel`, params, headers);
    case "SubscribeToTask":
      return get(`/tasks/${id}:subscribe`);
    case "GetExtendedAgentCard":
      return get("/extendedAgentCard");
    case "CreateTaskPushNotificationConfig":
      return bench.post(`/tasks/${taskId}/pushNotificationConfigs`, params, headers);
  }
}
