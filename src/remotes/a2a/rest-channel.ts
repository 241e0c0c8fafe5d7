import type { SendMessageRequest, StreamResponse, Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import type { CallOptions, Delivery, TaskChannel } from "./channel.js";

/** Options of {@link RestChannel}. */
export interface RestChannelOptions {
  /** The SDK's client, bound to one interface. */
  readonly client: Client;
  /** Runs a call with the credential's headers, once more with fresh ones when they were refused. */
  readonly authorized: <T>(
    call: CallOptions,
    run: (headers: Readonly<Record<string, string>>) => Promise<T>,
  ) => Promise<T>;
}

/** A2A 1.0 over REST, by the SDK's client. */
export class RestChannel implements TaskChannel {
  readonly #options: RestChannelOptions;

  constructor(options: RestChannelOptions) {
    this.#options = options;
  }

  stream(request: SendMessageRequest, call: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    return this.#events(call, (headers) =>
      this.#options.client.sendMessageStream(request, {
        signal: call.signal,
        serviceParameters: { ...headers },
      }),
    );
  }

  async send(request: SendMessageRequest, call: CallOptions): Promise<Delivery> {
    const result = await this.#options.authorized(call, (headers) =>
      this.#options.client.sendMessage(request, { signal: call.signal, serviceParameters: { ...headers } }),
    );
    return "messageId" in result
      ? { response: { payload: { $case: "message", value: result } } }
      : taskDelivery(result);
  }

  subscribe(taskId: string, call: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    return this.#events(call, (headers) =>
      this.#options.client.resubscribeTask(
        { tenant: "", id: taskId },
        { signal: call.signal, serviceParameters: { ...headers } },
      ),
    );
  }

  async get(taskId: string, call: CallOptions): Promise<Delivery & { readonly task: Task }> {
    return taskDelivery(
      await this.#options.authorized(call, (headers) =>
        this.#options.client.getTask(
          { tenant: "", id: taskId, historyLength: 0 },
          { signal: call.signal, serviceParameters: { ...headers } },
        ),
      ),
    );
  }

  async cancel(
    taskId: string,
    metadata: Readonly<Record<string, unknown>>,
    call: CallOptions,
  ): Promise<Delivery & { readonly task: Task }> {
    return taskDelivery(
      await this.#options.authorized(call, (headers) =>
        this.#options.client.cancelTask(
          { tenant: "", id: taskId, metadata: { ...metadata } },
          { signal: call.signal, serviceParameters: { ...headers } },
        ),
      ),
    );
  }

  async *#events(
    call: CallOptions,
    open: (headers: Readonly<Record<string, string>>) => AsyncGenerator<StreamResponse, void, undefined>,
  ): AsyncGenerator<Delivery, void, undefined> {
    // A refusal shows at the first event.
    const { events, first } = await this.#options.authorized(call, async (headers) => {
      const events = open(headers);
      return { events, first: await events.next() };
    });
    if (first.done) return;
    yield { response: first.value };
    for await (const response of events) yield { response };
  }
}

function taskDelivery(task: Task): Delivery & { readonly task: Task } {
  return { response: { payload: { $case: "task", value: task } }, task };
}
