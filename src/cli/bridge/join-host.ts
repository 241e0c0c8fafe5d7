import { request } from "node:http";
import type { Duplex, Readable, Writable } from "node:stream";
import { TroupeError } from "../../core/errors.js";
import { STREAM_PROTOCOL } from "../../host/workspace-door.js";
import type { WorkspaceHost } from "../../host/workspace-host-file.js";

/** How long a host may take to let a client in, in milliseconds. */
const ANSWER_MS = 10_000;

/**
 * Connects an MCP client on a pair of streams with a host: what the one writes the other reads, byte by byte.
 * @param signal the client is gone.
 * @returns whether the client left first; the host did otherwise.
 * @throws TroupeError `unauthorized` or `host_unreachable`.
 */
export async function joinHost(
  host: WorkspaceHost,
  options: {
    readonly token: string;
    readonly input: Readable;
    readonly output: Writable;
    readonly signal: AbortSignal;
  },
): Promise<boolean> {
  const { token, input, output, signal } = options;
  const opened = await connect(host, token, signal);
  if (opened === undefined) return true;
  const { socket, head } = opened;
  const leave = () => socket.destroy();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  output.once("error", leave);
  if (head.length > 0) output.write(head);
  socket.pipe(output, { end: false });
  input.pipe(socket);
  await new Promise<void>((resolve) => {
    socket.once("close", resolve);
    socket.once("end", () => socket.destroy());
    socket.on("error", () => socket.destroy());
  });
  input.unpipe(socket);
  return signal.aborted;
}

function connect(
  { mcpUrl }: WorkspaceHost,
  token: string,
  signal: AbortSignal,
): Promise<{ readonly socket: Duplex; readonly head: Buffer } | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(mcpUrl, {
      agent: false,
      headers: { connection: "Upgrade", upgrade: STREAM_PROTOCOL, authorization: `Bearer ${token}` },
    });
    const leave = () => {
      resolve(undefined);
      asked.destroy();
    };
    signal.addEventListener("abort", leave, { once: true });
    asked.setTimeout(ANSWER_MS, () => asked.destroy(new Error("it does not answer")));
    asked.once("upgrade", (_response, socket, head) => {
      signal.removeEventListener("abort", leave);
      socket.setTimeout(0);
      resolve({ socket, head });
    });
    asked.once("response", (response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      reject(
        status === 401
          ? new TroupeError("unauthorized", "The host does not take this workspace's token.")
          : new TroupeError("host_unreachable", `The host takes no client now (HTTP ${status}).`),
      );
      asked.destroy();
    });
    asked.once("error", (cause) =>
      reject(new TroupeError("host_unreachable", `The host cannot be reached: ${cause.message}`, { cause })),
    );
    asked.end();
  });
}
