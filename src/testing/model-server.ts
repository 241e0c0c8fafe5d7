import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request for a turn that a scripted model got; credentials are left out. */
export interface ModelRequest<Conversation> {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly conversation: Conversation;
  /** Whether its caller went away before the answer was complete. */
  aborted: boolean;
}

/** A scripted model's API on loopback. */
export interface ModelServer<Conversation> {
  readonly url: string;
  /** Every request for a turn so far, in order of arrival. */
  readonly requests: readonly ModelRequest<Conversation>[];
  /** Resolves when `count` requests have arrived. */
  received(count: number): Promise<void>;
  /** Ends every open answer and the server. */
  close(): Promise<void>;
}

/** Replies in order, or what makes one from a conversation. */
export type ModelScript<Conversation, Reply> =
  | readonly Reply[]
  | ((conversation: Conversation) => Reply | Promise<Reply>);

/** How one vendor's API is spoken. */
export interface ModelDialect<Conversation, Reply> {
  /** Whether a POST to this path asks for a turn. */
  isTurn(path: string): boolean;
  /** Answers anything else; with 404 by default. */
  aside?(request: IncomingMessage, path: string, response: ServerResponse): void;
  /** Credentials, beside `authorization`. */
  readonly secretHeader?: string;
  read(body: unknown): Conversation;
  /** What is said when the script is over. */
  readonly done: Reply;
  answer(reply: Reply, request: ModelRequest<Conversation>, response: ServerResponse): Promise<void> | void;
  /** The body of an error of the script itself. */
  failure(message: string): object;
}

const CHUNK_CHARACTERS = 12;

/** Starts a server that says what the script says, so that a real program runs without a model. */
export async function startModelServer<Conversation, Reply>(
  dialect: ModelDialect<Conversation, Reply>,
  script: ModelScript<Conversation, Reply>,
  port = 0,
): Promise<ModelServer<Conversation>> {
  const requests: ModelRequest<Conversation>[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let served = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "" } = request;
    const [path = ""] = (request.url ?? "").split("?");
    if (method !== "POST" || !dialect.isTurn(path)) {
      if (dialect.aside === undefined) response.writeHead(404).end();
      else dialect.aside(request, path, response);
      return;
    }
    const conversation = dialect.read(await readJson(request));
    const headers = headersOf(request, dialect.secretHeader);
    const seen: ModelRequest<Conversation> = { method, path, headers, conversation, aborted: false };
    requests.push(seen);
    response.on("close", () => {
      seen.aborted = !response.writableFinished;
    });
    for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();
    const reply =
      typeof script === "function" ? await script(conversation) : (script[served++] ?? dialect.done);
    await dialect.answer(reply, seen, response);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify(dialect.failure(String(error))));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    received: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A text as models send it: in pieces, none of which cuts a character. */
export function pieces(text: string): string[] {
  const characters = [...text];
  const result: string[] = [];
  for (let at = 0; at < characters.length; at += CHUNK_CHARACTERS)
    result.push(characters.slice(at, at + CHUNK_CHARACTERS).join(""));
  return result;
}

/** Begins a streamed answer. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
}

/** Answers with one JSON document. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function headersOf({ headers }: IncomingMessage, secret: string | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" && name !== "authorization" && name !== secret ? [[name, value]] : [],
    ),
  );
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  }
}
