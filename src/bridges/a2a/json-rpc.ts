import { isV1JsonRpcMethod } from "@a2a-js/sdk/compat/v0_3";
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import { A2A_ERROR_CODE, ContentTypeNotSupportedError, toJsonRpcError } from "@a2a-js/sdk/errors";
import { type A2ARequestHandler, JsonRpcTransportHandler } from "@a2a-js/sdk/server";
import { parseJson } from "../../wire/json.js";
import { formatSse } from "../../wire/sse-writer.js";
import {
  BodyError,
  type FaceAnswer,
  type FaceRequest,
  isAcceptable,
  isJsonType,
  json,
  openStream,
} from "./answer.js";
import { contextOf } from "./call.js";
import { checkParts } from "./incoming.js";
import { type FaceVersion, versionOf } from "./version.js";

type Id = string | number | null;

interface Envelope {
  readonly id: Id;
  readonly method: string;
  readonly request: Record<string, unknown>;
}

/** Answers A2A over JSON-RPC, in the version that a request asks for. */
export class JsonRpcFace {
  readonly #current: JsonRpcTransportHandler;
  readonly #legacy: LegacyJsonRpcTransportHandler;

  constructor(handler: A2ARequestHandler) {
    this.#current = new JsonRpcTransportHandler(handler);
    this.#legacy = new LegacyJsonRpcTransportHandler(handler);
  }

  async answer(request: FaceRequest): Promise<FaceAnswer> {
    if (!isJsonType(request.headers)) {
      return failure(null, new ContentTypeNotSupportedError("Content-Type must be application/json."), 400);
    }
    if (!isAcceptable(request.headers)) {
      return failure(
        null,
        new ContentTypeNotSupportedError("Accept: application/json or text/event-stream."),
        406,
      );
    }
    let text: string;
    try {
      text = await request.body();
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return problem(null, A2A_ERROR_CODE.PARSE_ERROR, error.message, error.status);
    }
    let body: unknown;
    try {
      body = parseJson(text);
    } catch {
      return problem(null, A2A_ERROR_CODE.PARSE_ERROR, "The body is not JSON that can be read.");
    }
    const envelope = envelopeOf(body);
    if (envelope === undefined) {
      return problem(idOf(body), A2A_ERROR_CODE.INVALID_REQUEST, "The body is not a JSON-RPC 2.0 request.");
    }
    let version: FaceVersion;
    try {
      version = versionOf(request.headers, request.query);
    } catch (error) {
      return failure(envelope.id, error);
    }
    return this.#call(envelope, version, request);
  }

  async #call(
    { id, method, request: body }: Envelope,
    version: FaceVersion,
    request: FaceRequest,
  ): Promise<FaceAnswer> {
    if (version === "0.3" && isV1JsonRpcMethod(method)) {
      const hint = `${method} is a method of A2A 1.0. Send the header A2A-Version: 1.0.`;
      return problem(id, A2A_ERROR_CODE.METHOD_NOT_FOUND, hint);
    }
    try {
      checkParts(body.params);
    } catch (error) {
      return failure(id, error);
    }
    const context = contextOf(request, version);
    const result =
      version === "0.3"
        ? await this.#legacy.handle(body, context)
        : await this.#current.handle(body, context);
    if (!(Symbol.asyncIterator in result)) return json(result);
    const toError =
      version === "0.3"
        ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError
        : JsonRpcTransportHandler.mapToJSONRPCError;
    try {
      const { items, close } = await openStream<object>(result);
      return { kind: "stream", frames: frames(items, id, toError), close };
    } catch (error) {
      return json({ jsonrpc: "2.0", id, error: toError(error) });
    }
  }
}

async function* frames(
  stream: AsyncGenerator<object, void, undefined>,
  id: Id,
  toError: (error: unknown) => unknown,
): AsyncGenerator<string> {
  try {
    for await (const envelope of stream) yield formatSse({ data: JSON.stringify(markedFinal(envelope)) });
  } catch (error) {
    yield formatSse({ data: JSON.stringify({ jsonrpc: "2.0", id, error: toError(error) }) });
  }
}

/** In 0.3 `final` says that the stream ends; ours ends where the caller is asked as well, which the SDK does not know. */
function markedFinal(envelope: object): object {
  const { result } = envelope as { result?: { kind?: string; status?: { state?: string }; final?: boolean } };
  if (result?.kind === "status-update" && result.status?.state === "input-required") result.final = true;
  return envelope;
}

function envelopeOf(body: unknown): Envelope | undefined {
  if (!isRecord(body) || body.jsonrpc !== "2.0") return undefined;
  const { method, id = null } = body;
  if (typeof method !== "string" || method === "" || !isId(id)) return undefined;
  return { id, method, request: body };
}

function idOf(body: unknown): Id {
  const id = isRecord(body) ? body.id : null;
  return isId(id) ? id : null;
}

function isId(id: unknown): id is Id {
  return typeof id === "string" || id === null || (typeof id === "number" && Number.isSafeInteger(id));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function failure(id: Id, error: unknown, status = 200): FaceAnswer {
  return json({ jsonrpc: "2.0", id, error: toJsonRpcError(error) }, status);
}

function problem(id: Id, code: number, message: string, status = 200): FaceAnswer {
  return json({ jsonrpc: "2.0", id, error: { code, message } }, status);
}
