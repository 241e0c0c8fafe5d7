import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent } from "../core/agent.js";
import { claude } from "../drivers/claude/claude.js";
import { createHost, type Host, type HostOptions } from "../host/host.js";
import { a2a } from "../remotes/a2a/a2a.js";
import { startScriptedAgent } from "../testing/a2a/start.js";
import { scriptedClaude } from "../testing/claude/start.js";

/** Milliseconds between two steps of the demo's scripts, so that a person can follow. */
const PACE_MS = 60;

/** A host without keys or network: a scripted Claude Code and a remote research agent, each a process of its own. */
export async function createDemoHost(overrides: Partial<HostOptions> = {}, paceMs = PACE_MS): Promise<Host> {
  const workspace = await mkdtemp(join(tmpdir(), "troupe-demo-"));
  const research = await startScriptedAgent({ name: "Research Agent", paceMs });
  try {
    const agent = createAgent(claude({ executable: scriptedClaude() }), {
      name: "Claude Code (scripted)",
      workspace,
      env: { TROUPE_PACE_MS: String(paceMs) },
    });
    const host = await createHost({
      agents: { claude: agent },
      subAgents: [a2a({ name: "research", agentCardUrl: research.cardUrl })],
      ...overrides,
    });
    await host.probe();
    return {
      ...host,
      async close() {
        await host.close();
        await research.close();
        await rm(workspace, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await research.close();
    throw error;
  }
}
