import { VERSION } from "../../version.js";
import type { HostApp, RouteEnvironment } from "./environment.js";
import type { AgentsAnswer, HealthAnswer } from "./shapes.js";

/** What the host offers, and that it lives. Never a URL or a credential. */
export function agentRoutes(app: HostApp, { agents, registry }: RouteEnvironment): void {
  app.get("/agents", (context) =>
    context.json<AgentsAnswer>({
      agents: [...agents].map(([key, { name, driver }]) => ({ key, name, driver: driver.describe().name })),
      subAgents: registry
        .forTenant(context.get("principal").tenant)
        .states()
        .map(({ key, protocol, status, description }) => ({
          key,
          name: description?.name ?? key,
          protocol,
          status,
          description: description?.description ?? "",
          skills: (description?.skills ?? []).map(({ id, name }) => ({ id, name })),
        })),
    }),
  );

  app.get("/healthz", (context) => context.json<HealthAnswer>({ status: "ok", version: VERSION }));
}
