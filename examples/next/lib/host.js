import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";

/** One host for the process: Next.js loads a module again for each route, and anew after an edit. */
export function troupeHost() {
  globalThis.troupeHost ??= createHost({
    agents: { claude: createAgent(claude()) },
    subAgents: [a2a({ name: "research", agentCardUrl: process.env.RESEARCH_CARD_URL })],
    // The app's own names, as long as there is no `authorise`.
    hostnames: (process.env.APP_HOSTNAMES ?? "localhost").split(","),
  });
  return globalThis.troupeHost;
}
