import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { CHECK_MS, type GuestDoor } from "../bridges/mcp/guest-sessions.js";
import type { Clock, Timer } from "../core/clock.js";
import { isLoopback } from "./app.js";
import { serveOnStreams } from "./external-parent.js";
import type { WorkspaceAccess } from "./workspace-token.js";

/** Name of the protocol that a connection is upgraded to: the lines of MCP's stdio transport, both ways, and nothing else. */
export const STREAM_PROTOCOL = "troupe-mcp-stdio";

/** What a {@link WorkspaceDoor} works with. */
export interface WorkspaceDoorOptions {
  readonly access: WorkspaceAccess;
  /** Tells this start of the host from others. */
  readonly instance: string;
  readonly guests: GuestDoor;
  readonly clock: Clock;
}

/** The door for external parents, beside the runs' own on the MCP port. */
export class WorkspaceDoor {
  readonly #sockets = new Set<Duplex>();

  constructor(private readonly options: WorkspaceDoorOptions) {}

  /** Answers whether this is the host of a workspace: `GET /workspace?nonce=…`. It gives nothing else away. */
  greet(request: Request): Response {
    const url = new URL(request.url);
    const nonce = url.searchParams.get("nonce") ?? "";
    if (!isLoopback(url.hostname) || request.headers.has("origin") || !/^[0-9a-f]{32}$/.test(nonce))
      return new Response(null, { status: 403 });
    const { access, instance } = this.options;
    const proof = access.prove(nonce, Number(url.port));
    return Response.json({ instance, ...(proof === undefined ? {} : { proof }) });
  }

  /** Takes a connection over that wants to speak MCP as on standard input and output. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const { access, guests, clock } = this.options;
    const admitted = access.admit(bearerOf(request));
    const refusal = refusalOf(request) ?? (admitted === undefined ? "401 Unauthorized" : undefined);
    if (admitted === undefined || refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#sockets.add(socket);
    let timer: Timer;
    const check = () => {
      if (admitted()) timer = clock.timer(CHECK_MS, check);
      else socket.destroy();
    };
    check();
    const over = () => {
      timer.cancel();
      this.#sockets.delete(socket);
      socket.destroy();
    };
    socket.once("close", over);
    const serve = serveOnStreams({ input: socket, output: socket }, clock);
    const opening = guests.open(async (toolset, signal) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${STREAM_PROTOCOL}\r\n\r\n`,
      );
      if (head.length > 0) socket.unshift(head);
      await serve(toolset, signal);
      // What was answered last is still to be sent.
      socket.end(over);
    });
    opening.then(over, () => {
      socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    });
  }

  /** Ends what is still connected. */
  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function refusalOf({ headers, url }: IncomingMessage): string | undefined {
  const host = `http://${headers.host ?? ""}`;
  const foreign = !URL.canParse(host) || !isLoopback(new URL(host).hostname) || headers.origin !== undefined;
  if (foreign) return "403 Forbidden";
  return url !== "/mcp" || headers.upgrade !== STREAM_PROTOCOL ? "404 Not Found" : undefined;
}

function bearerOf({ headers }: IncomingMessage): string {
  return (headers.authorization ?? "").replace(/^Bearer /i, "");
}
