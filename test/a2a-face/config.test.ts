import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createConfiguredHost } from "../../src/cli/config-host.js";
import { loadConfig } from "../../src/config/load.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function configured(config: object, variables: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "troupe-config-"));
  folders.push(folder);
  const file = join(folder, "troupe.config.json");
  writeFileSync(file, JSON.stringify(config));
  return loadConfig(file, variables);
}

const claude = { driver: "claude", workspace: "." };

describe("agents in the config", () => {
  it("are shown as they say, to whom it says", async () => {
    const config = await configured(
      {
        agents: {
          open: { ...claude, a2a: true },
          shaped: { ...claude, a2a: { description: "Reviews", exposure: { tools: "names" } } },
          hidden: { ...claude, a2a: false },
          silent: claude,
        },
        a2a: { auth: { mode: "bearer", tokens: { ada: "${ADA_TOKEN}" } } },
        serve: { publicUrl: "https://agents.example.com" },
      },
      { ADA_TOKEN: "token-of-ada" },
    );
    const host = await createConfiguredHost(config);
    const get = (path: string, headers: Record<string, string> = {}) =>
      host.fetch(
        new Request(`http://127.0.0.1:4100${path}`, { headers: { "a2a-version": "1.0", ...headers } }),
      );
    const card = async (agent: string) => get(`/a2a/${agent}/.well-known/agent-card.json`);
    expect(await (await card("open")).json()).toMatchObject({ url: "https://agents.example.com/a2a/open" });
    expect(await (await card("shaped")).json()).toMatchObject({
      description: "Reviews",
      capabilities: { extensions: [{ uri: "urn:x-a2a:trace:v1" }] },
    });
    expect([(await card("hidden")).status, (await card("silent")).status]).toEqual([404, 404]);
    // With two of them no one stands for the host.
    expect((await get("/.well-known/agent-card.json")).status).toBe(404);
    expect((await get("/a2a/open/tasks")).status).toBe(401);
    expect((await get("/a2a/open/tasks", { authorization: "Bearer token-of-ada" })).status).toBe(200);
    await host.close();
  });

  it("that are not shown leave no face at all", async () => {
    const host = await createConfiguredHost(await configured({ agents: { claude } }));
    const answer = await host.fetch(
      new Request("http://127.0.0.1:4100/a2a/claude/.well-known/agent-card.json"),
    );
    expect(answer.status).toBe(404);
    await host.close();
  });

  it.each([[{ a2a: { exposure: { tools: "all" } } }], [{ a2a: { unknown: 1 } }], [{ a2a: "yes" }]])(
    "%j is a mistake",
    async (more) => {
      const loading = configured({ agents: { claude: { ...claude, ...more } } });
      await expect(loading).rejects.toThrow("agents.claude.a2a");
    },
  );
});
