import type { ModelScript } from "../model-server.js";

/** One thing that the scripted model says. */
export type GeminiItem =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thought"; readonly text: string }
  | {
      readonly type: "function_call";
      /** Made up when absent. */
      readonly id?: string;
      readonly name: string;
      readonly args: Readonly<Record<string, unknown>>;
    }
  /** Nothing is sent until the promise has settled. */
  | { readonly type: "pause"; readonly until: Promise<unknown> };

/** How the scripted server answers one request. */
export type GeminiReply =
  /** `stall`: the stream stays open and silent after these items; `cut`: the connection is closed instead of completed. */
  | { readonly content: readonly GeminiItem[]; readonly stall?: boolean; readonly cut?: boolean }
  /** The request is refused with this status. */
  | { readonly error: { readonly status: number; readonly code?: string; readonly message?: string } }
  /** Never answers. */
  | { readonly hang: true };

/** A function's response as the model was shown it. */
export interface SeenFunctionResponse {
  readonly id: string;
  readonly name: string;
  readonly response: unknown;
  /** What it gave or what went wrong, as text. */
  readonly text: string;
}

/** What the model was shown in one request. */
export interface GeminiConversation {
  /** The text of the last content of the person that is no response of a function. */
  readonly prompt: string;
  /** The responses in the last content, in order. */
  readonly responses: readonly SeenFunctionResponse[];
  /** How many contents the model has sent so far. */
  readonly replies: number;
  /** Names of the functions that are offered. */
  readonly tools: readonly string[];
  /** The request's body, verbatim. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Replies in order of the requests, or a function of what the model sees. A list that has run out answers "Done.". */
export type GeminiScript = ModelScript<GeminiConversation, GeminiReply>;

/** Reads a request's body into what matters to a script. Anything malformed reads as absent. */
export function readGeminiConversation(body: unknown): GeminiConversation {
  const request = asRecord(body);
  const contents = asArray(request.contents).map((value) => {
    const content = asRecord(value);
    return { role: content.role, parts: asArray(content.parts).map(asRecord) };
  });
  const prompt = contents.findLast(
    ({ role, parts }) => role === "user" && parts.some(({ text }) => typeof text === "string"),
  );
  return {
    prompt: (prompt?.parts ?? []).flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n"),
    responses: (contents.at(-1)?.parts ?? []).flatMap(({ functionResponse }) => {
      if (functionResponse === undefined) return [];
      const { id, name, response } = asRecord(functionResponse);
      const { output, error } = asRecord(response);
      const text = [output, error].find((value) => typeof value === "string");
      return [
        {
          id: asText(id),
          name: asText(name),
          response,
          text: asText(text) || JSON.stringify(response ?? null),
        },
      ];
    }),
    replies: contents.filter(({ role }) => role === "model").length,
    tools: asArray(request.tools).flatMap((tool) =>
      asArray(asRecord(tool).functionDeclarations).flatMap((value) => asText(asRecord(value).name) || []),
    ),
    body: request,
  };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
