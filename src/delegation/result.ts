import { defined } from "../core/defined.js";
import { wellFormed } from "../core/text.js";
import type { ArtifactDescription, ArtifactError, DelegationError, RemoteProtocol } from "./events.js";
import type { ResponseMode } from "./policy.js";
import type { RemoteQuestion } from "./remote.js";

/** A delegation's state for the parent's model. */
export type ResultStatus = "working" | "needs_input" | FinalStatus;

/** How a delegation ended. */
export type FinalStatus = "completed" | "failed" | "cancelled";

/** What a result is made of. */
export interface ResultParts {
  readonly delegationId: string;
  readonly agentKey: string;
  readonly protocol: RemoteProtocol;
  readonly remoteTaskId?: string;
  readonly remoteContextId?: string;
  readonly status: ResultStatus;
  /** The remote's messages, oldest first; the last one is the summary. */
  readonly texts: readonly string[];
  readonly artifacts: readonly {
    readonly artifact: ArtifactDescription;
    readonly error?: ArtifactError;
    /** What a JSON file says, with mode `structured`. */
    readonly data?: unknown;
  }[];
  readonly error?: DelegationError;
  /** What the remote wants to know, with status `needs_input`. */
  readonly question?: RemoteQuestion;
  /** `artifact` by default. */
  readonly responseMode?: ResponseMode;
}

/** The JSON that the parent's model gets: what matters most comes first, since programs cut from the end. */
export interface DelegationResult {
  readonly delegation_id: string;
  readonly agent: string;
  readonly status: ResultStatus;
  readonly summary: string;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly remote_status?: string;
  };
  /** What the remote wants to know, with status `needs_input`. */
  readonly input_request?: { readonly prompt: string; readonly schema?: unknown };
  readonly remote_protocol: RemoteProtocol;
  readonly remote_task_id: string | null;
  readonly remote_context_id: string | null;
  /** Absent with mode `compact`, as are `messages` and `raw_task`. */
  readonly artifacts?: readonly ResultArtifact[];
  /** What the remote said before its summary, when the summary alone is too short to be an answer. */
  readonly messages?: readonly { readonly role: "assistant"; readonly text: string }[];
  readonly raw_task?: { readonly provider: RemoteProtocol; readonly task_id: string | null };
  /** Texts were shortened, or references left out, to stay below the host's limit. A person saw everything. */
  readonly truncated?: true;
}

interface ResultArtifact {
  readonly id: string;
  readonly name: string;
  readonly mime_type: string;
  readonly uri: string;
  readonly size: number;
  readonly error?: ArtifactError;
  /** What a JSON file says, with mode `structured`, if there is room for it. */
  readonly data?: unknown;
}

/** Bytes of JSON that stay of an error's message. */
const MAX_MESSAGE_BYTES = 600;
/** Bytes of JSON that stay of an id that the remote chose; real ones have 40. */
const MAX_ID_BYTES = 256;
/** Bytes of JSON that stay of the remote's word for its state. */
const MAX_STATUS_BYTES = 64;

/** Bytes of JSON that stay of a remote's question, and the largest schema that goes with it. */
const MAX_PROMPT_BYTES = 1_024;
const MAX_SCHEMA_BYTES = 2_048;

/** A closing message at least this long, in characters, is an answer; a shorter one may be no more than "Done." */
const ANSWER_LENGTH = 100;
/** Bytes for what the remote said before such a short one. A transcript does not belong into the parent's context. */
const MAX_EARLIER_BYTES = 1_024;

/**
 * Builds the result below `maxBytes` of JSON. Ids and the error always stay; texts are cut first, then references to artifacts.
 */
export function buildResult(parts: ResultParts, maxBytes: number): DelegationResult {
  return withData(parts, buildWithReferences(parts, maxBytes), maxBytes);
}

/** Adds what JSON files say, in their order, as far as there is room beside everything else. */
function withData(parts: ResultParts, result: DelegationResult, maxBytes: number): DelegationResult {
  if (parts.responseMode !== "structured" || result.artifacts === undefined) return result;
  let left = maxBytes - byteLength(result);
  const artifacts = result.artifacts.map((reference, index) => {
    const data = parts.artifacts[index]?.data;
    const size = data === undefined ? 0 : Buffer.byteLength(`,"data":${JSON.stringify(data)}`);
    if (data === undefined || size > left) return reference;
    left -= size;
    return { ...reference, data };
  });
  return { ...result, artifacts };
}

function buildWithReferences(parts: ResultParts, maxBytes: number): DelegationResult {
  const summary = parts.texts.at(-1) ?? "";
  const earlier = summary.length >= ANSWER_LENGTH ? [] : parts.texts.slice(0, -1);
  const messages = lastOf(earlier, MAX_EARLIER_BYTES);
  const complete = messages.length === earlier.length && messages[0] === earlier[0];
  const whole = assemble(parts, summary, messages, parts.artifacts.length, !complete);
  if (byteLength(whole) <= maxBytes) return whole;
  const references = countFitting(parts, maxBytes / 2);
  const budget = maxBytes - byteLength(assemble(parts, "", [], references, true));
  const shortened = cut(summary, budget);
  return assemble(
    parts,
    shortened,
    lastOf(earlier, Math.min(MAX_EARLIER_BYTES, budget - jsonBytes(shortened))),
    references,
    true,
  );
}

/** How many artifacts can be named before the result without any text is larger than `maxBytes`. */
function countFitting(parts: ResultParts, maxBytes: number): number {
  let size = byteLength(assemble(parts, "", [], 0, true));
  const first = parts.artifacts.findIndex((collected) => {
    size += Buffer.byteLength(JSON.stringify(referTo(collected))) + 1;
    return size > maxBytes;
  });
  return first < 0 ? parts.artifacts.length : first;
}

/** The newest of `texts` that fit into `budget` bytes of JSON; the oldest of them may be cut. */
function lastOf(texts: readonly string[], budget: number): string[] {
  const kept: string[] = [];
  let left = budget;
  for (const text of texts.toReversed()) {
    const piece = cut(text, left - MESSAGE_OVERHEAD);
    if (piece === "") break;
    kept.unshift(piece);
    left -= jsonBytes(piece) + MESSAGE_OVERHEAD;
    if (piece !== text) break;
  }
  return kept;
}

/** `{"role":"assistant","text":""},` */
const MESSAGE_OVERHEAD = 32;

function assemble(
  parts: ResultParts,
  summary: string,
  messages: readonly string[],
  references: number,
  truncated: boolean,
): DelegationResult {
  const { error, protocol, remoteTaskId, remoteContextId } = parts;
  const compact = parts.responseMode === "compact";
  const taskId = remoteTaskId === undefined ? null : short(remoteTaskId, MAX_ID_BYTES);
  return {
    delegation_id: parts.delegationId,
    agent: parts.agentKey,
    status: parts.status,
    summary: wellFormed(summary),
    ...(error === undefined
      ? {}
      : {
          error: {
            code: error.code,
            message: short(error.message, MAX_MESSAGE_BYTES),
            retryable: error.retryable,
            ...(error.remoteStatus === undefined
              ? {}
              : { remote_status: short(error.remoteStatus, MAX_STATUS_BYTES) }),
          },
        }),
    ...(parts.question === undefined ? {} : { input_request: requestOf(parts.question) }),
    remote_protocol: protocol,
    remote_task_id: taskId,
    remote_context_id: remoteContextId === undefined ? null : short(remoteContextId, MAX_ID_BYTES),
    ...(compact
      ? {}
      : {
          artifacts: parts.artifacts.slice(0, references).map(referTo),
          messages: messages.map((text) => ({ role: "assistant" as const, text: wellFormed(text) })),
          raw_task: { provider: protocol, task_id: taskId },
        }),
    ...(truncated || (compact && parts.artifacts.length > 0) ? { truncated: true } : {}),
  };
}

function requestOf({ prompt, schema }: RemoteQuestion): NonNullable<DelegationResult["input_request"]> {
  const asked = { prompt: short(prompt, MAX_PROMPT_BYTES) };
  const fits = schema !== undefined && jsonBytes(JSON.stringify(schema)) <= MAX_SCHEMA_BYTES;
  return fits ? { ...asked, schema } : asked;
}

function referTo({ artifact, error }: ResultParts["artifacts"][number]): ResultArtifact {
  return {
    id: artifact.id,
    name: artifact.name,
    mime_type: artifact.mimeType,
    uri: artifact.uri,
    size: artifact.size,
    ...defined({ error }),
  };
}

function short(text: string, maxBytes: number): string {
  return wellFormed(cut(text, maxBytes));
}

/** The start of `text` whose JSON fits into `budget` bytes, with a mark that says how much is missing. */
function cut(text: string, budget: number): string {
  if (jsonBytes(text) <= budget) return text;
  let keep = Math.min(text.length, Math.max(0, budget));
  for (;;) {
    if (keep <= 0) return "";
    // Half of a surrogate pair would not survive UTF-8.
    if (/[\ud800-\udbff]$/.test(text.slice(0, keep))) keep--;
    const shortened = `${text.slice(0, keep)}… [${text.length - keep} characters cut]`;
    const excess = jsonBytes(shortened) - budget;
    if (excess <= 0) return shortened;
    keep -= Math.max(1, Math.ceil(excess / 6));
  }
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

function byteLength(result: DelegationResult): number {
  return Buffer.byteLength(JSON.stringify(result));
}
