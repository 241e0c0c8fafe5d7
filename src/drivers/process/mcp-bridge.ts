import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { McpHttpServer } from "../../core/mcp-server.js";
import { LineSplitter } from "./line-splitter.js";
import { McpForwarder } from "./mcp-forwarder.js";

/** A stdio MCP server that stands for one that is reached over HTTP, for programs that cannot do HTTP. */
export interface McpBridge {
  /** The program to start; its last argument is {@link address}. It holds no credential. */
  readonly command: readonly [string, ...string[]];
  /** Where the program connects to: a socket that only this user may open. */
  readonly address: string;
  /** Resolves when a client has sent its first message. */
  readonly contacted: Promise<void>;
  close(): Promise<void>;
}

/** Bytes of one message. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Copies between its standard streams and a socket. The credential stays in the host's process: it is in no argument, variable or
 * file, and in no memory but the host's. A name that was not expanded (`${env:NAME}`) is looked up in its own environment.
 */
const BRIDGE_PROGRAM = [
  "const [, given] = process.argv;",
  "const name = /^[$][{]env:(\\w+)[}]$/.exec(given)?.[1];",
  "const socket = require('net').connect(name ? process.env[name] : given);",
  "process.stdin.pipe(socket).pipe(process.stdout);",
  "socket.on('close', () => process.exit(0));",
  "for (const stream of [socket, process.stdin, process.stdout]) stream.on('error', () => process.exit(1));",
].join("");

/** The program of a bridge and its arguments, for an `address` that its environment may name as `${env:NAME}`. */
export function bridgeCommand(address: string): readonly [string, ...string[]] {
  return [process.execPath, "-e", BRIDGE_PROGRAM, address];
}

/** Opens a {@link McpBridge} to `server`. Several clients may use it, one after the other or at once. */
export async function openMcpBridge(server: McpHttpServer): Promise<McpBridge> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-mcp-"));
  const address = process.platform === "win32" ? `\\\\.\\pipe\\${directory}` : join(directory, "socket");
  let contact: () => void = () => {};
  const contacted = new Promise<void>((resolve) => {
    contact = resolve;
  });
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    serve(socket, server, contact);
  });
  await listen(listener, address);
  return {
    command: bridgeCommand(address),
    address,
    contacted,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => listener.close(() => resolve()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function serve(socket: Socket, server: McpHttpServer, contact: () => void): void {
  const forwarder = new McpForwarder(server, (message) => {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
  });
  const lines = new LineSplitter(MAX_LINE_BYTES, {
    line: (line) => {
      contact();
      forwarder.line(line);
    },
    tooLong: () => socket.destroy(),
  });
  socket.on("data", (chunk: Buffer) => lines.push(chunk));
  // A program that has gone says so by the end of its connection.
  socket.on("error", () => {});
  socket.once("close", () => forwarder.close());
}

function listen(listener: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(address, () => {
      listener.off("error", reject);
      // Whoever waits for the run keeps the process alive; a bridge that is left over does not.
      listener.unref();
      resolve();
    });
  });
}
