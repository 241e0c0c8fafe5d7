import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { RunServer, type RunServerOptions } from "./run-server.js";
import type { McpToolset } from "./tool.js";

/** A client on a pair of streams. */
export interface McpStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Bytes of one message; a prompt of a megabyte fits. */
const MAX_MESSAGE = 4 * 1_048_576;

/** Serves a toolset to one MCP client, in whichever era it speaks, until its stream ends or `signal` aborts. */
export async function serveStreams(
  toolset: McpToolset,
  { input, output }: McpStreams,
  { signal, ...options }: RunServerOptions & { readonly signal: AbortSignal },
): Promise<void> {
  if (signal.aborted) return;
  const server = new RunServer(toolset, options);
  const handle = serveStdio(({ era }) => server.create(era), {
    transport: new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE }),
    onerror: options.onError,
  });
  let isGone = false;
  await new Promise<void>((resolve) => {
    const gone = () => {
      isGone = true;
      resolve();
    };
    signal.addEventListener("abort", () => resolve(), { once: true });
    for (const event of ["end", "close", "error"]) input.once(event, gone);
    // Whoever reads is gone.
    output.once("error", gone);
  });
  // Calls that are open when a client leaves were given up; one that is sent away gets its answers.
  if (!isGone) await server.lastAnswers();
  await handle.close();
}
