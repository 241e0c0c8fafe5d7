import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { McpHttpServer } from "../../core/mcp-server.js";
import { asObject, asText, type JsonObject } from "./json.js";
import { LineSplitter } from "./line-splitter.js";

/** Bytes of one answer, or of one line of a stream of events. */
const MAX_BYTES = 16 * 1024 * 1024;
/** JSON-RPC: an error that the server's side defines. */
const SERVER_ERROR = -32_000;

/**
 * Passes an MCP client's messages on to a server over streamable HTTP, and the server's back. It knows of MCP what its transport needs:
 * the session, the version, and which answer belongs to which request. There is no limit of time: clients have their own.
 */
export class McpForwarder {
  readonly #server: McpHttpServer;
  readonly #write: (message: unknown) => void;
  readonly #abort = new AbortController();
  readonly #agent: HttpAgent;
  #session: string | undefined;
  #version: string | undefined;
  #listening = false;

  /** @param write gets each message for the client. */
  constructor(server: McpHttpServer, write: (message: unknown) => void) {
    this.#server = server;
    this.#write = write;
    this.#agent = server.url.startsWith("https:")
      ? new HttpsAgent({ keepAlive: true })
      : new HttpAgent({ keepAlive: true });
  }

  /** Takes a line of the client. What is no message is ignored. */
  line(line: string): void {
    let message: JsonObject;
    try {
      message = asObject(JSON.parse(line));
    } catch {
      return;
    }
    if (Object.keys(message).length > 0 && !this.#abort.signal.aborted) void this.#post(message, line);
  }

  /** The client is gone: open requests are broken off and the session is ended. */
  close(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    if (this.#session === undefined) {
      this.#agent.destroy();
      return;
    }
    const ended = this.#send("DELETE", undefined, new AbortController().signal);
    void ended
      .then((response) => response.resume())
      .catch(() => {})
      .finally(() => this.#agent.destroy());
  }

  /** Settles when the answer is complete; never rejects. */
  async #post(message: JsonObject, line: string): Promise<void> {
    const id = asText(message.method) === undefined ? undefined : message.id;
    let answered = false;
    try {
      const response = await this.#send("POST", line, this.#abort.signal);
      await this.#read(response, (answer) => {
        if (id !== undefined && asObject(answer).id === id && !("method" in asObject(answer)))
          answered = true;
        if (message.method === "initialize") this.#initialized(response, answer);
        this.#write(answer);
      });
      if (message.method === "notifications/initialized") this.#listen();
      if (id !== undefined && !answered) this.#refuse(id, `the server answered ${response.statusCode}`);
    } catch {
      // The reason may hold the address, which is the host's business.
      if (id !== undefined && !answered) this.#refuse(id, "the server could not be reached");
    }
  }

  #refuse(id: unknown, reason: string): void {
    if (this.#abort.signal.aborted) return;
    this.#write({ jsonrpc: "2.0", id, error: { code: SERVER_ERROR, message: `MCP server: ${reason}` } });
  }

  #initialized(response: IncomingMessage, answer: unknown): void {
    const session = response.headers["mcp-session-id"];
    if (typeof session === "string") this.#session = session;
    this.#version = asText(asObject(asObject(answer).result).protocolVersion) ?? this.#version;
  }

  /** What the server says unasked comes by a stream of its own, where it has one. */
  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    void this.#send("GET", undefined, this.#abort.signal)
      .then((response) => this.#read(response, (message) => this.#write(message)))
      .catch(() => {});
  }

  #send(method: string, body: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    const start = this.#server.url.startsWith("https:") ? requestHttps : requestHttp;
    const accept = method === "POST" ? "application/json, text/event-stream" : "text/event-stream";
    return new Promise((resolve, reject) => {
      const request = start(this.#server.url, {
        method,
        agent: this.#agent,
        signal,
        headers: {
          ...this.#server.headers,
          accept,
          ...(body !== undefined && {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
          }),
          ...(this.#session !== undefined && { "mcp-session-id": this.#session }),
          ...(this.#version !== undefined && { "mcp-protocol-version": this.#version }),
        },
      });
      request.once("error", reject);
      request.once("response", resolve);
      request.end(body);
    });
  }

  async #read(response: IncomingMessage, onMessage: (message: unknown) => void): Promise<void> {
    const type = response.headers["content-type"] ?? "";
    const status = response.statusCode ?? 0;
    if (status < 300 && type.includes("text/event-stream")) return readEvents(response, onMessage);
    // What a refusal says is for people, and it names no request.
    const json = status < 300 && type.includes("application/json");
    let size = 0;
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error("too long");
      chunks.push(chunk);
    }
    if (size > 0 && json) deliver(Buffer.concat(chunks).toString(), onMessage);
  }
}

/** Reads the data of a stream of events; their ids and names mean nothing here. */
async function readEvents(response: IncomingMessage, onMessage: (message: unknown) => void): Promise<void> {
  let data: string[] = [];
  let broken = false;
  const lines = new LineSplitter(MAX_BYTES, {
    line: (raw) => {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (data.length > 0) deliver(data.join("\n"), onMessage);
        data = [];
      } else if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
    },
    tooLong: () => {
      broken = true;
    },
  });
  for await (const chunk of response as AsyncIterable<Buffer>) {
    lines.push(chunk);
    if (broken) throw new Error("too long");
  }
}

function deliver(text: string, onMessage: (message: unknown) => void): void {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return;
  }
  if (Object.keys(asObject(message)).length > 0) onMessage(message);
}
