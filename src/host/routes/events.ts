import { chooseEncoder, SUBAGENT_ENCODINGS, type SubagentEncoding } from "../../bridges/agui/encoder.js";
import { parseRunInput, type RunInput } from "../../bridges/agui/run-input.js";
import { defined } from "../../core/defined.js";
import type { ThreadChoice } from "../../core/thread.js";
import { originOf } from "../../delegation/run-origin.js";
import { type Cursor, parseCursor } from "../../journal/journal.js";
import { sseResponse } from "../../wire/sse-writer.js";
import { type Principal, threadKey } from "../authoriser.js";
import { eventFrames } from "../event-frames.js";
import { HttpError } from "../http-error.js";
import type { RunRecord } from "../runs.js";
import { type HostApp, type HostContext, jsonBody, type RouteEnvironment } from "./environment.js";

/** Routes that stream: a run, and a thread. */
export function eventRoutes(app: HostApp, environment: RouteEnvironment): void {
  const { runs, disconnectGraceMs, identityOf } = environment;

  const start = (context: HostContext, thread: string, input: RunInput): RunRecord => {
    const agent = context.req.param("agent") ?? "";
    const traceparent = context.req.header("traceparent");
    const { metadata, refusal } = originOf(input.origin, traceparent, identityOf(agent));
    if (refusal !== undefined) throw new HttpError(403, "policy_denied", refusal);
    const { runId, messages, choice, history } = input;
    return runs.start({
      agent,
      thread,
      runId,
      messages,
      metadata,
      ...chosenThread(context.get("principal"), choice),
      ...defined({ disconnectGraceMs, history }),
    });
  };

  app.post("/agents/:agent/run", async (context) => {
    const input = parseRunInput(await jsonBody(context, JSON.parse));
    const thread = threadKey(context.get("principal"), input.threadId);
    const after = cursorOf(context);
    let record = (await runs.recall(thread, input.runId)) ?? start(context, thread, input);
    const first = await record.first.catch(async (error: unknown) => {
      // Asked twice, and another host was quicker: it is the same run.
      const elsewhere = await runs.recall(thread, input.runId);
      if (elsewhere === undefined) throw error;
      record = elsewhere;
      return elsewhere.first;
    });
    return stream(context, environment, { ...input, thread, run: record, after: after ?? before(first) });
  });

  app.get("/threads/:threadId/events", (context) => {
    const threadId = context.req.param("threadId");
    return stream(context, environment, {
      threadId,
      thread: threadKey(context.get("principal"), threadId),
      after: cursorOf(context),
    });
  });

  // For runners that POST: everything so far, then the active run to its end.
  app.post("/threads/:threadId/connect", async (context) => {
    await jsonBody(context);
    const threadId = context.req.param("threadId");
    const thread = threadKey(context.get("principal"), threadId);
    const head = (await environment.journal.head(thread)) ?? "0";
    const run = runs.activeIn(thread);
    return stream(context, environment, {
      threadId,
      thread,
      after: cursorOf(context),
      ...(run === undefined ? { through: head } : { run }),
    });
  });
}

interface StreamOptions {
  readonly threadId: string;
  readonly thread: string;
  readonly after: Cursor | undefined;
  readonly protocolVersion?: string;
  /** End with this run. */
  readonly run?: RunRecord;
  /** End at this entry. */
  readonly through?: Cursor;
}

function stream(context: HostContext, environment: RouteEnvironment, options: StreamOptions): Response {
  const { journal, clock, heartbeatMs, subagents } = environment;
  const { threadId, thread, after, protocolVersion, run, through } = options;
  const requested = encodingOf(context);
  const encode = chooseEncoder({
    threadId,
    ...defined({ requested, preferred: subagents, protocolVersion }),
  });
  const closed = new AbortController();
  const left = environment.presence.reading(thread);
  const last = through ?? run?.last;
  const frames = eventFrames(journal, {
    thread,
    encode,
    signal: closed.signal,
    ...defined({ after }),
    ...(run === undefined ? {} : { untilRunEnds: run.runId, ...defined({ unrecorded: run.unrecorded }) }),
    ...defined({ through: last }),
  });
  return sseResponse(frames, {
    clock,
    heartbeatMs,
    signal: context.req.raw.signal,
    onClose: () => {
      closed.abort();
      left();
    },
  });
}

/** A thread that is to be forked is the caller's own, as all others. */
function chosenThread(principal: Principal, { threadFrom, ...choice }: ThreadChoice): ThreadChoice {
  return threadFrom === undefined ? choice : { ...choice, threadFrom: threadKey(principal, threadFrom) };
}

function cursorOf(context: HostContext): Cursor | undefined {
  const text = context.req.header("last-event-id") ?? context.req.query("after");
  if (text === undefined || text === "") return undefined;
  const cursor = parseCursor(text);
  if (cursor === undefined)
    throw new HttpError(400, "invalid_input", "Last-Event-ID: not an id of this stream.");
  return cursor;
}

function encodingOf(context: HostContext): SubagentEncoding | undefined {
  const text = context.req.query("subagents");
  const known = SUBAGENT_ENCODINGS.find((name) => name === text);
  if (text === undefined || known !== undefined) return known;
  throw new HttpError(400, "invalid_input", `subagents: must be one of ${SUBAGENT_ENCODINGS.join(", ")}.`);
}

function before(cursor: Cursor): Cursor {
  return String(Number(cursor) - 1);
}
