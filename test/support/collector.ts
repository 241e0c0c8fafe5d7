import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SidebandEvent } from "../../src/telemetry/sideband-event.js";

/** One request that a {@link Collector} got. */
export interface CollectedBatch {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly events: readonly SidebandEvent[];
}

/** An HTTP server that takes batches, and answers each as it is told to. */
export class Collector implements AsyncDisposable {
  readonly batches: CollectedBatch[] = [];
  /** Answers a request; 202 by default. */
  answer: (response: ServerResponse, index: number) => void = (response) => response.writeHead(202).end();
  readonly #server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    this.batches.push({ headers: request.headers, text, events: JSON.parse(text).events });
    this.answer(response, this.batches.length - 1);
  });

  static async start(): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(0, "127.0.0.1");
    await once(collector.#server, "listening");
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/collect`;
  }

  get events(): SidebandEvent[] {
    return this.batches.flatMap(({ events }) => events);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
