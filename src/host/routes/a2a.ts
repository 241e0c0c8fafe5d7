import { BodyError, type FaceAnswer, type FaceRequest } from "../../bridges/a2a/answer.js";
import { sseResponse } from "../../wire/sse-writer.js";
import { HttpError, notFound } from "../http-error.js";
import { type HostApp, type HostContext, limitedText, type RouteEnvironment } from "./environment.js";

/** Clients in Python leave a stream that was silent for five seconds. */
const A2A_HEARTBEAT_MS = 4_000;
/** Seconds that a card may be used without asking again. */
const CARD_MAX_AGE = 60;

const CARD_PATH = /^(?:\/a2a\/[^/]+)?\/\.well-known\/agent(?:-card)?\.json$/;

/** Whether a path belongs to the A2A face. */
export function isFacePath(path: string): boolean {
  return path.startsWith("/a2a/");
}

/** Whether a path is an agent card, which is open to everybody. */
export function isCardPath(path: string): boolean {
  return CARD_PATH.test(path);
}

/** Agents of the host for A2A clients: cards, JSON-RPC, and REST below the agent's address. */
export function a2aRoutes(app: HostApp, environment: RouteEnvironment): void {
  const { a2a } = environment;
  if (a2a === undefined) return;
  const { face, publicUrl } = a2a;
  // Cards are what the host was started with.
  const lastModified = new Date(environment.clock.now()).toUTCString();

  const urlOf = (context: HostContext, agent: string) =>
    `${publicUrl ?? new URL(context.req.url).origin}/a2a/${encodeURIComponent(agent)}`;

  const card = (context: HostContext, agent: string) => {
    const served = face.card(agent, urlOf(context, agent));
    if (served === undefined) throw notFound("agent");
    const headers = {
      "content-type": "application/json",
      "cache-control": `public, max-age=${CARD_MAX_AGE}`,
      etag: served.etag,
      "last-modified": lastModified,
      // The card holds the address that it was asked for under.
      vary: "Host, A2A-Version",
    };
    const known = (context.req.header("if-none-match") ?? "")
      .split(",")
      .map((tag) => tag.trim().replace(/^W\//, ""));
    return known.includes(served.etag)
      ? context.body(null, 304, headers)
      : context.body(served.body, 200, headers);
  };

  const answer = async (
    context: HostContext,
    path: string,
    call: (agent: string, request: FaceRequest) => Promise<FaceAnswer | undefined>,
  ) => {
    const agent = context.req.param("agent") ?? "";
    const closed = new AbortController();
    const { signal: gone } = context.req.raw;
    const request: FaceRequest = {
      caller: context.get("principal"),
      url: urlOf(context, agent),
      signal: AbortSignal.any([gone, closed.signal]),
      method: context.req.method,
      path,
      query: new URL(context.req.url).searchParams,
      headers: context.req.raw.headers,
      body: () => bodyOf(context),
    };
    const result = await call(agent, request);
    if (result === undefined) throw notFound(face.agents.includes(agent) ? "operation" : "agent");
    if (result.kind !== "stream") {
      return context.body(JSON.stringify(result.body), result.status as 200, {
        "content-type": result.contentType,
        "cache-control": "no-store",
      });
    }
    return sseResponse(result.frames, {
      clock: environment.clock,
      heartbeatMs: Math.min(environment.heartbeatMs, A2A_HEARTBEAT_MS),
      signal: gone,
      onClose: () => {
        closed.abort();
        result.close();
      },
    });
  };

  const only = face.agents.length === 1 ? face.agents[0] : undefined;
  for (const file of ["agent-card.json", "agent.json"]) {
    app.get(`/a2a/:agent/.well-known/${file}`, (context) => card(context, context.req.param("agent")));
    if (only !== undefined) app.get(`/.well-known/${file}`, (context) => card(context, only));
  }
  app.post("/a2a/:agent", (context) => answer(context, "", (agent, request) => face.jsonRpc(agent, request)));
  app.all("/a2a/:agent/*", (context) => {
    const [, , , ...segments] = new URL(context.req.url).pathname.split("/");
    const path = segments.join("/");
    return answer(context, path, (agent, request) =>
      path === "" && request.method === "POST" ? face.jsonRpc(agent, request) : face.rest(agent, request),
    );
  });
}

async function bodyOf(context: HostContext): Promise<string> {
  try {
    return await limitedText(context, true);
  } catch (error) {
    if (error instanceof HttpError) throw new BodyError(413);
    throw error instanceof TypeError ? new BodyError(400) : error;
  }
}
