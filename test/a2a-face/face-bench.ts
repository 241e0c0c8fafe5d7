import type { DriverOutcome, DriverRequest, DriverSink } from "../../src/core/driver.js";
import type { A2aHostOptions } from "../../src/host/a2a-host.js";
import { createHost, type Host, type HostOptions } from "../../src/host/host.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { readSse } from "../../src/wire/sse-reader.js";
import { agentOf, FINISHED } from "../support/fake-agent.js";

/** A run of the fake agent, which does what the test says. */
export interface PlayedRun {
  readonly sink: DriverSink;
  readonly request: DriverRequest;
  finish(outcome?: DriverOutcome): void;
}

/** A JSON-RPC answer or an event of a stream, as it came over the wire. */
// biome-ignore lint/suspicious/noExplicitAny: tests look at what is on the wire
export type Wire = any;

/** The face over an agent that the test plays, and time that stands still, without a port. */
export class FaceBench implements AsyncDisposable {
  private constructor(
    readonly host: Host,
    readonly clock: ManualClock,
    readonly runs: PlayedRun[],
  ) {}

  static async start(
    options: {
      readonly a2a?: Partial<A2aHostOptions>;
      readonly host?: Partial<HostOptions>;
      /** The agent does not end when it is cancelled. */
      readonly deaf?: boolean;
    } = {},
  ): Promise<FaceBench> {
    const clock = new ManualClock();
    const runs: PlayedRun[] = [];
    const play = (sink: DriverSink, request: DriverRequest) =>
      new Promise<DriverOutcome>((resolve) => {
        runs.push({ sink, request, finish: (outcome = FINISHED) => resolve(outcome) });
        if (options.deaf) return;
        request.signal.addEventListener("abort", () => resolve({ status: "cancelled" }), { once: true });
      });
    const host = await createHost({
      agents: { helper: agentOf(play, { clock, name: "Helper" }).agent },
      a2a: { agents: { helper: true }, ...options.a2a },
      clock,
      ...options.host,
    });
    return new FaceBench(host, clock, runs);
  }

  /** A request below the agent's address. */
  fetch(path = "", init: RequestInit = {}): Promise<Response> {
    const url = path.startsWith("http") ? path : `http://127.0.0.1:4100/a2a/helper${path}`;
    return this.host.fetch(new Request(url, init));
  }

  post(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    return this.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** A JSON-RPC call. */
  call(
    method: string,
    params: unknown,
    headers?: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Response> {
    return this.post("", { jsonrpc: "2.0", id: 7, method, params }, headers, signal);
  }

  /** The answer of a JSON-RPC call. */
  async ask(method: string, params: unknown, headers?: Record<string, string>): Promise<Wire> {
    return (await this.call(method, params, headers)).json();
  }

  /** Sends without waiting. @returns the task. */
  async send(text = "Hello", more: object = {}, headers?: Record<string, string>): Promise<Wire> {
    const configuration = { returnImmediately: true };
    const answer = await this.ask(
      "SendMessage",
      { message: userMessage(text, more), configuration },
      headers,
    );
    await this.clock.advance(0);
    return answer.result?.task ?? answer;
  }

  /** The task as it is now. */
  async task(id: string, headers?: Record<string, string>): Promise<Wire> {
    await this.clock.advance(0);
    return (await this.ask("GetTask", { id }, headers)).result;
  }

  /** The newest run. */
  get run(): PlayedRun {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error("nothing runs");
    return run;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.close();
  }
}

let messages = 0;

/** A message of the user on the wire of 1.0. */
export function userMessage(text: string, more: object = {}): Wire {
  return { messageId: `m-${++messages}`, role: "ROLE_USER", parts: [{ text }], ...more };
}

/** Every call that reaches for a task. */
export function callsOn(id: string): (readonly [method: string, params: Wire])[] {
  const message = () => userMessage("x", { taskId: id });
  return [
    ["GetTask", { id }],
    ["CancelTask", { id }],
    ["SubscribeToTask", { id }],
    ["SendMessage", { message: message() }],
    ["SendStreamingMessage", { message: message() }],
  ];
}

/** The events of a stream as they come. */
export async function* eventsOf(response: Response): AsyncGenerator<Wire> {
  if (response.body === null) throw new Error(`no body, status ${response.status}`);
  for await (const { data } of readSse(response.body)) yield JSON.parse(data);
}

/** All events of a stream that ends. */
export async function allOf(response: Response): Promise<Wire[]> {
  const events: Wire[] = [];
  for await (const event of eventsOf(response)) events.push(event.result ?? event);
  return events;
}

/** What the agent says in events or in a task. */
export function wireText(items: readonly Wire[]): string {
  return items
    .flatMap(
      (item: Wire) => item.artifactUpdate?.artifact ?? item.task?.artifacts ?? (item.artifactId ? item : []),
    )
    .filter(({ name }: Wire) => name === "assistant-output")
    .flatMap(({ parts }: Wire) => parts)
    .map(({ text }: Wire) => text ?? "")
    .join("");
}
