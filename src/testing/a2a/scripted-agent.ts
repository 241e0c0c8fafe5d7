#!/usr/bin/env node
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { AgentCard, StreamResponse } from "@a2a-js/sdk";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express, { type NextFunction, type Request, type Response } from "express";
import { systemClock } from "../../core/clock.js";
import { ScriptedExecutor, type StreamHandle } from "./scripted-executor.js";

const USAGE = `Usage: scripted-agent [options]

An A2A 1.0 agent on 127.0.0.1 that does what the lines of a message beginning with # say.
Prints one line of JSON, {"url","card"}, when it is ready.

  --port N          port to listen on (default: any free one)
  --name NAME       name on the card (default: Research)
  --tenant T        tenant of its interfaces; calls without it are refused
  --token T         bearer token that calls must bring
  --guard-card      the card asks for the token too
  --binding B       jsonrpc, rest or both (default: both)
  --no-streaming    the card says that it cannot stream
  --with-stdin      ends when its standard input does

Environment: TROUPE_PACE_MS, milliseconds between two steps (default 5).
`;

/** One call as {@link seen} keeps it. */
interface SeenCall {
  readonly method: string;
  readonly params: unknown;
  /** Values of headers that may hold a credential are replaced by `(present)`. */
  readonly headers: Readonly<Record<string, string>>;
}

const CREDENTIAL_HEADERS = new Set(["authorization", "x-api-key", "cookie"]);

function main(): void {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      name: { type: "string", default: "Research" },
      tenant: { type: "string", default: "" },
      token: { type: "string" },
      "guard-card": { type: "boolean", default: false },
      binding: { type: "string", default: "both" },
      "no-streaming": { type: "boolean", default: false },
      "with-stdin": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const app = express();
  const server = app.listen(Number(values.port), "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    equip(app, url, values);
    process.stdout.write(`${JSON.stringify({ url, card: `${url}/.well-known/agent-card.json` })}\n`);
  });
  const stop = () => {
    server.close();
    server.closeAllConnections();
    process.exit(0);
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  if (values["with-stdin"]) process.stdin.resume().once("end", stop).once("error", stop);
}

interface Flags {
  readonly name: string;
  readonly tenant: string;
  readonly token?: string | undefined;
  readonly "guard-card": boolean;
  readonly binding: string;
  readonly "no-streaming": boolean;
}

function equip(app: express.Express, url: string, flags: Flags): void {
  const card = makeCard(url, flags);
  const seen: SeenCall[] = [];
  const streams = new Map<string, StreamHandle>();
  const paceMs = Number(process.env.TROUPE_PACE_MS ?? 5);
  const executor = new ScriptedExecutor({
    clock: systemClock,
    paceMs,
    stream: (messageId) => streams.get(messageId),
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const guard = (request: Request, response: Response, next: NextFunction) => {
    if (flags.token === undefined || request.headers.authorization === `Bearer ${flags.token}`) next();
    else response.status(401).set("www-authenticate", "Bearer").json({ error: "unauthorized" });
  };

  app.get("/__seen", (_request, response) => void response.json(seen));
  // The card goes out as ProtoJSON; JSON.stringify of the typed card would lose its security schemes.
  const cardJson = AgentCard.toJSON(card);
  if (flags["guard-card"]) app.use("/.well-known", guard);
  app.get("/.well-known/agent-card.json", (_request, response) => void response.json(cardJson));

  app.use(express.json({ limit: "8mb", type: ["application/json", "application/a2a+json"] }));
  app.use("/a2a", (request, response, next) => {
    seen.push(seenCall(request));
    const messageId: unknown = request.body?.params?.message?.messageId ?? request.body?.message?.messageId;
    if (typeof messageId === "string") streams.set(messageId, streamHandle(request, response));
    next();
  });
  app.use("/a2a", guard);
  app.use("/a2a/rpc", (request, response, next) => {
    const tenant = request.body?.params?.tenant ?? "";
    if (tenant === flags.tenant) next();
    else
      response.json({
        jsonrpc: "2.0",
        id: request.body?.id ?? null,
        error: { code: -32602, message: "Unknown tenant" },
      });
  });
  app.use("/a2a/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  app.use("/a2a/rest", restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
}

function makeCard(url: string, flags: Flags): AgentCard {
  const supportedInterfaces = [
    { url: `${url}/a2a/rest`, protocolBinding: "HTTP+JSON", tenant: flags.tenant, protocolVersion: "1.0" },
    { url: `${url}/a2a/rpc`, protocolBinding: "JSONRPC", tenant: flags.tenant, protocolVersion: "1.0" },
  ].filter(
    ({ protocolBinding }) =>
      flags.binding === "both" || (flags.binding === "rest") === (protocolBinding !== "JSONRPC"),
  );
  return AgentCard.fromJSON({
    name: flags.name,
    description: "Searches sources, reads them and writes notes.",
    version: "1.0.0",
    supportedInterfaces,
    capabilities: { streaming: !flags["no-streaming"], pushNotifications: false },
    ...(flags.token === undefined
      ? {}
      : {
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
          securityRequirements: [{ schemes: { bearer: { list: [] } } }],
        }),
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain", "text/markdown"],
    skills: [
      {
        id: "research",
        name: "Research a topic",
        description: "Reads sources on a topic and sums them up.",
        tags: ["research"],
        examples: ["Compare three caching strategies"],
      },
    ],
  });
}

function seenCall(request: Request): SeenCall {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    headers[name] = CREDENTIAL_HEADERS.has(name) ? "(present)" : String(value);
  }
  const rpc = request.path.startsWith("/rpc");
  return rpc
    ? { method: String(request.body?.method), params: request.body?.params, headers }
    : { method: `${request.method} ${request.path}`, params: request.body, headers };
}

function streamHandle(request: Request, response: Response): StreamHandle {
  // The server goes on writing after the script has closed the response.
  response.on("error", () => undefined);
  return {
    drop: () => void response.socket?.destroy(),
    end: () => void response.end(),
    appendAtEnd(event, delay) {
      const end = response.end.bind(response);
      const result = StreamResponse.toJSON({ payload: { $case: "statusUpdate", value: event } });
      const body = request.body?.jsonrpc ? { jsonrpc: "2.0", id: request.body.id, result } : result;
      response.end = () => {
        systemClock.timer(delay, () => {
          response.write(`data: ${JSON.stringify(body)}\n\n`);
          end();
        });
        return response;
      };
    },
  };
}

main();
