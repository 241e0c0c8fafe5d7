import {
  AgentCard,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  Task,
} from "@a2a-js/sdk";
import {
  ContentTypeNotSupportedError,
  RequestMalformedError,
  restStatusFor,
  toRestErrorBody,
} from "@a2a-js/sdk/errors";
import type { A2ARequestHandler, ServerCallContext } from "@a2a-js/sdk/server";
import { parseJson } from "../../wire/json.js";
import { formatSse } from "../../wire/sse-writer.js";
import {
  BodyError,
  type FaceAnswer,
  type FaceRequest,
  isAcceptable,
  isJsonType,
  json,
  type OpenStream,
  openStream,
} from "./answer.js";
import { contextOf } from "./call.js";
import { mergedCard } from "./card.js";
import { checkParts } from "./incoming.js";
import { legacyErrorBody, legacyReply, legacySendRequest, legacyTask } from "./legacy-rest.js";
import { type FaceVersion, versionOf } from "./version.js";

/** An operation as its path and method say. */
interface Operation {
  readonly name: "send" | "stream" | "list" | "get" | "cancel" | "subscribe" | "push" | "card";
  readonly taskId: string;
  readonly tenant: string;
}

/** How answers of one version look. */
interface Dialect {
  readonly contentType: string;
  readonly decode: (body: unknown) => SendMessageRequest;
  readonly task: (task: Task) => unknown;
  readonly reply: (reply: StreamResponse) => unknown;
  readonly card: (card: AgentCard) => unknown;
  readonly error: (error: unknown, status: number) => unknown;
}

const CURRENT: Dialect = {
  contentType: "application/a2a+json",
  decode: (body) => SendMessageRequest.fromJSON(body),
  task: (task) => Task.toJSON(task),
  reply: (reply) => StreamResponse.toJSON(reply),
  card: (card) => AgentCard.toJSON(card),
  error: toRestErrorBody,
};

const LEGACY: Dialect = {
  contentType: "application/json",
  decode: legacySendRequest,
  task: legacyTask,
  reply: legacyReply,
  card: mergedCard,
  error: legacyErrorBody,
};

/** Answers A2A over HTTP and JSON: 1.0 below the agent's address, 0.3 below its `/v1`. */
export class RestFace {
  constructor(private readonly handler: A2ARequestHandler) {}

  /** @returns `undefined` for a path that is no operation. */
  async answer(request: FaceRequest): Promise<FaceAnswer | undefined> {
    let dialect = CURRENT;
    try {
      const version = versionOf(request.headers, request.query);
      if (version === "0.3") dialect = LEGACY;
      const operation = operationOf(request.method, request.path, version);
      if (operation === undefined) return undefined;
      if (!isAcceptable(request.headers)) {
        const error = new ContentTypeNotSupportedError("Accept: application/json or text/event-stream.");
        return json(dialect.error(error, 406), 406, dialect.contentType);
      }
      return await this.#perform(operation, dialect, request, contextOf(request, version, operation.tenant));
    } catch (error) {
      const status = error instanceof BodyError ? error.status : restStatusFor(error);
      return json(dialect.error(asMalformed(error), status), status, dialect.contentType);
    }
  }

  async #perform(
    { name, taskId, tenant }: Operation,
    dialect: Dialect,
    request: FaceRequest,
    context: ServerCallContext,
  ): Promise<FaceAnswer> {
    const { handler } = this;
    const reply = (body: unknown) => json(body, 200, dialect.contentType);
    switch (name) {
      case "send": {
        const params = { ...dialect.decode(await bodyOf(request)), tenant };
        const result = await handler.sendMessage(params, context);
        const value = "messageId" in result ? ({ $case: "message", value: result } as const) : undefined;
        return reply(dialect.reply({ payload: value ?? { $case: "task", value: result as Task } }));
      }
      case "stream": {
        const params = { ...dialect.decode(await bodyOf(request)), tenant };
        return stream(await openStream(handler.sendMessageStream(params, context)), dialect);
      }
      case "subscribe":
        return stream(await openStream(handler.resubscribe({ id: taskId, tenant }, context)), dialect);
      case "get": {
        const historyLength = wholeNumber(request.query, "historyLength");
        return reply(dialect.task(await handler.getTask({ id: taskId, tenant, historyLength }, context)));
      }
      case "cancel": {
        const body = await bodyOf(request, true);
        const metadata: unknown = Object(body).metadata;
        const given = typeof metadata === "object" && metadata !== null ? { ...metadata } : undefined;
        return reply(
          dialect.task(await handler.cancelTask({ id: taskId, tenant, metadata: given }, context)),
        );
      }
      case "list": {
        const list = await handler.listTasks(listRequest(request.query, tenant), context);
        const body = ListTasksResponse.toJSON(list) as Record<string, unknown>;
        return reply({ tasks: [], nextPageToken: "", totalSize: 0, ...body });
      }
      case "card": {
        const card = await handler.getAuthenticatedExtendedAgentCard({ tenant }, context);
        return reply(dialect.card(card));
      }
      case "push":
        await handler.listTaskPushNotificationConfigs(
          { taskId, tenant, pageSize: 0, pageToken: "" },
          context,
        );
        return reply({});
    }
  }
}

function stream({ items, close }: OpenStream<StreamResponse>, dialect: Dialect): FaceAnswer {
  return {
    kind: "stream",
    close,
    frames: (async function* () {
      try {
        for await (const event of items) yield formatSse({ data: JSON.stringify(dialect.reply(event)) });
      } catch (error) {
        const body = dialect.error(error, restStatusFor(error));
        yield formatSse({ event: "error", data: JSON.stringify(body) });
      }
    })(),
  };
}

/** The first segment is a tenant when it is no operation (A2A 1.0, 11.3). */
function operationOf(method: string, path: string, version: FaceVersion): Operation | undefined {
  const segments = path.split("/").map(decoded);
  if (segments.includes(undefined)) return undefined;
  const known = segments as string[];
  if (version === "0.3") {
    const [first, ...rest] = known;
    return first === "v1" ? operationIn(method, rest, "", version) : undefined;
  }
  const direct = operationIn(method, known, "", version);
  const [tenant = "", ...rest] = known;
  return direct ?? (tenant === "" ? undefined : operationIn(method, rest, tenant, version));
}

function operationIn(
  method: string,
  [head = "", second, third, ...more]: readonly string[],
  tenant: string,
  version: FaceVersion,
): Operation | undefined {
  const at = (name: Operation["name"], taskId = ""): Operation => ({ name, taskId, tenant });
  if (second === undefined) {
    if (method === "POST" && head === "message:send") return at("send");
    if (method === "POST" && head === "message:stream") return at("stream");
    if (method === "GET" && head === "tasks" && version === "1.0") return at("list");
    if (method === "GET" && head === (version === "1.0" ? "extendedAgentCard" : "card")) return at("card");
    return undefined;
  }
  if (head !== "tasks") return undefined;
  if (third !== undefined) {
    return third === "pushNotificationConfigs" && more.length < 2 ? at("push", second) : undefined;
  }
  const [, taskId = "", verb] = /^(.*?)(?::(cancel|subscribe))?$/s.exec(second) ?? [];
  if (verb === "cancel") return method === "POST" ? at("cancel", taskId) : undefined;
  if (verb === "subscribe")
    return method === "GET" || method === "POST" ? at("subscribe", taskId) : undefined;
  return method === "GET" ? at("get", taskId) : undefined;
}

/** The JSON body; clients of 0.3 send `null` or nothing where there is nothing to say. */
async function bodyOf(request: FaceRequest, optional = false): Promise<unknown> {
  const text = await request.body();
  if (optional && (text.trim() === "" || text.trim() === "null")) return {};
  if (!isJsonType(request.headers)) {
    throw new ContentTypeNotSupportedError("Content-Type must be application/a2a+json or application/json.");
  }
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    throw new RequestMalformedError("The body is not JSON that can be read.");
  }
  checkParts(body);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  throw new RequestMalformedError("The body must be a JSON object.");
}

function listRequest(query: URLSearchParams, tenant: string): ListTasksRequest {
  const text = (name: string) => query.get(name) ?? "";
  const includeArtifacts = /^(?:true|1)$/i.test(text("includeArtifacts"));
  const request = ListTasksRequest.fromJSON({
    tenant,
    contextId: text("contextId"),
    pageToken: text("pageToken"),
    includeArtifacts,
    ...(text("status") === "" ? {} : { status: text("status") }),
    ...(text("statusTimestampAfter") === "" ? {} : { statusTimestampAfter: text("statusTimestampAfter") }),
  });
  return {
    ...request,
    pageSize: wholeNumber(query, "pageSize"),
    historyLength: wholeNumber(query, "historyLength"),
  };
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d{1,9}$/.test(text)) throw new RequestMalformedError(`${name} must be a whole number.`);
  return Number(text);
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function asMalformed(error: unknown): unknown {
  return error instanceof BodyError ? new RequestMalformedError(error.message) : error;
}
