import { type ListTasksRequest, type ListTasksResponse, TaskState } from "@a2a-js/sdk";
import { RequestMalformedError } from "@a2a-js/sdk/errors";
import type { FaceTask } from "./face-task.js";
import { checkHistoryLength } from "./incoming.js";

const DEFAULT_PAGE = 50;
const MAX_PAGE = 100;

/**
 * One page of tasks, the one that changed last first (A2A 1.0, 3.1.4).
 * @throws A2AError for a page size, token, time or length that is none.
 */
export function listTasks(tasks: readonly FaceTask[], request: ListTasksRequest): ListTasksResponse {
  checkHistoryLength(request.historyLength);
  const pageSize = request.pageSize ?? DEFAULT_PAGE;
  if (!Number.isSafeInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE) {
    throw new RequestMalformedError(`pageSize must be 1 to ${MAX_PAGE}.`);
  }
  if (request.status === TaskState.UNRECOGNIZED)
    throw new RequestMalformedError("status is no state of a task.");
  const since = timeOf(request.statusTimestampAfter);
  const wanted = tasks
    .filter(({ contextId }) => request.contextId === "" || contextId === request.contextId)
    .filter(({ state }) => request.status === TaskState.TASK_STATE_UNSPECIFIED || state === request.status)
    .filter(({ timestamp }) => since === undefined || Date.parse(timestamp) >= since)
    .map((task) => ({ task, key: keyOf(task) }))
    .sort((left, right) => (left.key < right.key ? 1 : -1));
  const after = request.pageToken === "" ? undefined : keyIn(request.pageToken);
  const rest = after === undefined ? wanted : wanted.filter(({ key }) => key < after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return {
    tasks: page.map(({ task }) =>
      task.snapshot({
        historyLength: request.historyLength ?? 0,
        artifacts: request.includeArtifacts === true,
      }),
    ),
    nextPageToken:
      rest.length > page.length && last !== undefined ? Buffer.from(last.key).toString("base64url") : "",
    pageSize,
    totalSize: wanted.length,
  };
}

/** Sorts by time, and by id where that is the same. */
function keyOf({ timestamp, id }: FaceTask): string {
  return `${timestamp} ${id}`;
}

function keyIn(token: string): string {
  const key = Buffer.from(token, "base64url").toString("utf8");
  if (token.length > 1_000 || !/^\d{4}-\d\d-\d\dT[\d:.]+Z \S+$/.test(key)) {
    throw new RequestMalformedError("pageToken is none that was given.");
  }
  return key;
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new RequestMalformedError("statusTimestampAfter is no ISO 8601 time.");
  return time;
}
