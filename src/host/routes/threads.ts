import { z } from "zod";
import { owns, threadIdOf } from "../authoriser.js";
import { HttpError } from "../http-error.js";
import type { RunRecord } from "../runs.js";
import type { HostApp, RouteEnvironment } from "./environment.js";
import type { ListedThread, ThreadsAnswer } from "./shapes.js";

/** Threads of one page when the request does not say how many. */
const PAGE_SIZE = 30;

const query = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(PAGE_SIZE),
  /** `next` of the page before: a time and a thread's id. */
  before: z
    .string()
    .regex(/^\d{1,15}:/)
    .optional(),
});

/** The list of a principal's threads: those with a run that this process knows of, the latest first. */
export function threadRoutes(app: HostApp, { runs, delegator }: RouteEnvironment): void {
  /** Delegations that work on although their run is over. */
  const detached = (records: readonly RunRecord[]): number =>
    records
      .filter(({ status }) => status !== "running")
      .flatMap((record) => delegator.list(record))
      .filter(({ detached, phase }) => detached === true && phase !== "over").length;

  app.get("/threads", (context) => {
    const parsed = query.safeParse(context.req.query());
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new HttpError(400, "invalid_input", `${issue?.path.join(".") || "query"}: ${issue?.message}`);
    }
    const { limit, before } = parsed.data;
    const principal = context.get("principal");
    const threads = runs
      .threads((thread) => owns(principal, thread))
      .map((records) => ({ records, place: placeOf(records) }))
      .filter(({ place }) => before === undefined || compare(place, placeFrom(before)) > 0)
      .sort((left, right) => compare(left.place, right.place));
    const page = threads.slice(0, limit);
    const last = page.at(-1)?.place;
    const answer: ThreadsAnswer = {
      threads: page.flatMap(({ records }) => show(records, detached(records))),
      ...(last !== undefined && threads.length > limit && { next: `${last.startedAt}:${last.threadId}` }),
    };
    return context.json(answer);
  });
}

/** Where a thread stands in the list. */
interface Place {
  readonly startedAt: number;
  readonly threadId: string;
}

function placeOf(records: readonly RunRecord[]): Place {
  const last = records.at(-1);
  return { startedAt: last?.startedAt ?? 0, threadId: threadIdOf(last?.thread ?? "") };
}

function placeFrom(text: string): Place {
  const colon = text.indexOf(":");
  return { startedAt: Number(text.slice(0, colon)), threadId: text.slice(colon + 1) };
}

/** The latest first; threads of one moment by their ids. */
function compare(left: Place, right: Place): number {
  return (
    right.startedAt - left.startedAt ||
    (left.threadId < right.threadId ? -1 : left.threadId > right.threadId ? 1 : 0)
  );
}

function show(records: readonly RunRecord[], detached: number): ListedThread[] {
  const [first, last] = [records[0], records.at(-1)];
  if (first === undefined || last === undefined) return [];
  const { runId, agent, status, startedAt, endedAt } = last;
  const run = { runId, agent, status, startedAt, endedAt };
  return [
    { threadId: threadIdOf(last.thread), title: first.title ?? "", run, runs: records.length, detached },
  ];
}
