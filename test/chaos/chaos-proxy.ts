import { once } from "node:events";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Random } from "../fuzz/fuzz.js";

/** What is done to one answer. */
type Harm =
  | { readonly do: "pass" }
  /** Cuts the connection after so many events, or in the middle of the next one. */
  | { readonly do: "cut"; readonly after: number; readonly middle: boolean }
  /** Passes nothing more after so many events, and keeps the connection. */
  | { readonly do: "stall"; readonly after: number }
  | { readonly do: "duplicate" }
  | { readonly do: "split" }
  | { readonly do: "delay" }
  /** Answers by itself; the agent gets nothing. */
  | { readonly do: "refuse" };

/** A proxy that does harm, by seed. */
export interface ChaosProxy extends AsyncDisposable {
  readonly url: string;
  /** What was done. */
  readonly done: ReadonlySet<Harm["do"]>;
  /** Message ids of sends whose answer was lost before its first event: nobody could learn the task's id. */
  readonly unheard: ReadonlySet<string>;
  /** Connections that are open. */
  readonly open: number;
}

/** How often one send is refused; a third time would be the last try. */
const MAX_REFUSALS = 2;

/** Starts a proxy in front of the agent at `target`. The card is never harmed. */
export async function startChaosProxy(target: string, seed: number): Promise<ChaosProxy> {
  const random = new Random(seed);
  const done = new Set<Harm["do"]>();
  const unheard = new Set<string>();
  const refused = new Map<unknown, number>();
  let open = 0;

  const server = createServer(async (request, response) => {
    response.on("error", () => undefined);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const messageId: unknown =
      body.length === 0 ? undefined : JSON.parse(String(body)).params?.message?.messageId;
    let harm: Harm = request.method === "GET" ? { do: "pass" } : choose(random);
    // A send that is refused each time it is tried is an agent that is not there, which is another story.
    if (harm.do === "refuse" && (refused.get(messageId) ?? 0) >= MAX_REFUSALS) harm = { do: "pass" };
    done.add(harm.do);
    if (harm.do === "refuse") {
      if (messageId !== undefined) refused.set(messageId, (refused.get(messageId) ?? 0) + 1);
      response.writeHead(503, { "retry-after": "0" }).end();
      return;
    }
    const progress = { passed: 0 };
    response.on("close", () => {
      if (progress.passed === 0 && typeof messageId === "string") unheard.add(messageId);
    });
    const upstream = forward(
      new URL(request.url ?? "/", target),
      { method: request.method ?? "GET", headers: { ...request.headers, host: new URL(target).host } },
      (answer) => void pass(answer, response, harm, random, progress),
    );
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    upstream.end(body);
  });
  server.on("connection", (socket) => {
    open++;
    socket.on("error", () => undefined);
    socket.on("close", () => open--);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    done,
    unheard,
    get open() {
      return open;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function choose(random: Random): Harm {
  const after = random.chance(0.04) ? 0 : 1 + random.below(12);
  switch (random.below(12)) {
    case 0:
    case 1:
      return { do: "cut", after, middle: random.chance(0.5) };
    case 2:
      return { do: "stall", after };
    case 3:
      return { do: "duplicate" };
    case 4:
    case 5:
      return { do: "split" };
    case 6:
      return { do: "delay" };
    case 7:
      return { do: "refuse" };
    default:
      return { do: "pass" };
  }
}

/** @param progress counts the events, or whole answers, that went through. */
async function pass(
  answer: IncomingMessage,
  response: ServerResponse,
  harm: Harm,
  random: Random,
  progress: { passed: number },
): Promise<void> {
  const isStream = String(answer.headers["content-type"]).startsWith("text/event-stream");
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  response.flushHeaders();
  let rest = "";
  try {
    for await (const bytes of answer.setEncoding("utf8")) {
      rest += bytes;
      while (isStream) {
        const end = rest.indexOf("\n\n");
        if (end < 0) break;
        const event = rest.slice(0, end + 2);
        rest = rest.slice(end + 2);
        if (!(await give(event))) return;
        progress.passed++;
      }
    }
    if (rest !== "") {
      if (!(await give(rest))) return;
      progress.passed++;
    }
    response.end();
  } catch {
    response.destroy();
  }

  async function give(event: string): Promise<boolean> {
    if (harm.do === "stall" && progress.passed >= harm.after) {
      // The other side has to notice by itself.
      await once(response, "close");
      return false;
    }
    if (harm.do === "cut" && progress.passed >= harm.after) {
      const bytes = Buffer.from(event);
      if (harm.middle) await write(response, bytes.subarray(0, random.below(bytes.length)));
      response.destroy();
      return false;
    }
    if (harm.do === "delay") await pause(random.below(8));
    if (harm.do === "split") {
      let bytes = Buffer.from(event);
      while (bytes.length > 0) {
        const size = 1 + random.below(bytes.length);
        await write(response, bytes.subarray(0, size));
        bytes = bytes.subarray(size);
        await pause(0);
      }
      return true;
    }
    await write(response, Buffer.from(event));
    // A piece that is appended twice could as well be meant twice: nothing tells them apart.
    if (isStream && harm.do === "duplicate" && !event.includes('"append":true'))
      await write(response, Buffer.from(event));
    return true;
  }
}

/** Waits until the bytes are with the kernel, so that a cut comes after them. */
function write(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (bytes.length === 0 || response.destroyed) resolve();
    else response.write(bytes, () => resolve());
  });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    if (milliseconds === 0) setImmediate(resolve);
    else setTimeout(resolve, milliseconds);
  });
}
