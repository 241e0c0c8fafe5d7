import { createDemoHost } from "./demo-host.js";
import { EXIT } from "./exit-code.js";
import { announce, serveUntilStopped } from "./serving.js";

/** Options of `troupe demo`. */
export interface DemoOptions {
  readonly port: number;
  readonly open?: boolean;
  readonly json?: boolean;
}

/** `troupe demo`: serves the scripted agents until it is stopped. */
export async function demoCommand({ port, open, json }: DemoOptions): Promise<number> {
  const host = await createDemoHost();
  try {
    const { url } = await host.listen({ port });
    await serveUntilStopped(host, async () => {
      announce(host, url, json, [
        "",
        "  Troupe demo: a scripted Claude Code calls a remote research agent. No keys, no network.",
        "",
        `  Console   ${url}/`,
        `  AG-UI     POST ${url}/agents/claude/run`,
        `  MCP       ${host.mcpUrl}   (for the parents; a token per run)`,
        "",
        "  Ctrl-C stops it.",
      ]);
      if (open) {
        const { default: openBrowser } = await import("open");
        await openBrowser(url);
      }
    });
    return EXIT.done;
  } catch (error) {
    await host.close();
    throw error;
  }
}
