import { notFound } from "../http-error.js";
import { artifactResponse } from "./artifact-response.js";
import type { HostApp, RouteEnvironment } from "./environment.js";

/** Files that remotes may fetch while they work for this host. The link itself is the credential. */
export function sharedRoutes(app: HostApp, { artifacts, links }: RouteEnvironment): void {
  app.get("/shared/:token", async (context) => {
    const linked = links?.find(context.req.param("token"));
    const stored =
      linked === undefined ? undefined : await artifacts.get(linked.delegationId, linked.artifactId);
    if (stored === undefined) throw notFound("artifact");
    return artifactResponse(context, stored);
  });
}
