import { Hono } from "hono";
import { cors } from "hono/cors";
import type { Authorise } from "./authoriser.js";
import { errorResponse, HttpError, notFound } from "./http-error.js";
import { a2aRoutes, isCardPath, isFacePath } from "./routes/a2a.js";
import { agentRoutes } from "./routes/agents.js";
import { consoleRoutes } from "./routes/console.js";
import type { HostApp, RouteEnvironment } from "./routes/environment.js";
import { eventRoutes } from "./routes/events.js";
import { sharedRoutes } from "./routes/shared.js";
import { stateRoutes } from "./routes/state.js";
import { threadRoutes } from "./routes/threads.js";

/** Who may talk to the routes. */
export interface AppOptions {
  readonly authorise?: Authorise;
  /** Host names under which the host may be asked for, beside the loopback ones. Without an authoriser only those are accepted. */
  readonly hostnames: readonly string[];
  /** Origins of pages, beside the host's own, that may call it. */
  readonly origins: readonly string[];
}

/** Builds the HTTP application of a host. */
export function createApp(
  environment: RouteEnvironment,
  { authorise, hostnames, origins }: AppOptions,
): HostApp {
  const app: HostApp = new Hono();
  app.onError((error, context) => errorResponse(context, error));
  app.notFound((context) => errorResponse(context, notFound("route")));

  // A page that reaches this host under a name of its own (DNS rebinding) is turned away, and so is a foreign page's request.
  app.use(async (context, next) => {
    const { hostname, host } = new URL(context.req.url);
    if (authorise === undefined && !isLoopback(hostname) && !hostnames.includes(hostname)) {
      throw new HttpError(403, "forbidden", "This host does not answer to that name.");
    }
    const origin = context.req.header("origin");
    if (origin !== undefined && !origins.includes(origin) && hostOf(origin) !== host) {
      throw new HttpError(403, "forbidden", "Pages of that origin may not call this host.");
    }
    await next();
  });
  if (origins.length > 0) app.use(cors({ origin: [...origins] }));
  sharedRoutes(app, environment);
  app.use(async (context, next) => {
    const { path } = context.req;
    const face = isFacePath(path) ? environment.a2a : undefined;
    const decide = face?.authorise ?? authorise;
    const open = path === "/healthz" || (environment.a2a !== undefined && isCardPath(path));
    const principal = decide === undefined || open ? {} : await decide(context.req.raw);
    if (principal === undefined && face !== undefined) context.header("www-authenticate", face.challenge);
    if (principal === undefined)
      throw new HttpError(401, "unauthorized", "Not allowed. Send the credential that this host expects.");
    context.set("principal", principal);
    await next();
  });

  agentRoutes(app, environment);
  eventRoutes(app, environment);
  stateRoutes(app, environment);
  threadRoutes(app, environment);
  a2aRoutes(app, environment);
  consoleRoutes(app);
  return app;
}

/** Whether `hostname` can only be this machine. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname === "[::1]" ||
    hostname === "::1" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
