import { errorText } from "../core/errors.js";
import { ClientError } from "./client-error.js";

/** Headers of every request, or a function that makes them afresh (for credentials that expire). */
export type HeadersSource =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** Joins a base address and a path; `baseUrl` may have a path of its own, with or without a slash at its end. */
export function hostUrl(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/\/+$/, "")}${path}`;
}

/** The headers that a source gives now. */
export async function headersNow(
  source: HeadersSource | undefined,
): Promise<Readonly<Record<string, string>>> {
  return typeof source === "function" ? await source() : (source ?? {});
}

/** The global `fetch`, looked up at each call and called as a plain function: browsers refuse it as a method. */
export const globalFetch: typeof fetch = (input, init) => globalThis.fetch(input, init);

/** Sends a request. @throws ClientError `unreachable` when there is no answer; the abort reason when `signal` aborted. */
export async function send(
  fetchFunction: typeof fetch,
  url: string,
  init: RequestInit,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await untilAborted(fetchFunction(url, { ...init, signal }), signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new ClientError("unreachable", `The host could not be reached: ${errorText(error, 200)}`, {
      cause: error,
    });
  }
}

/** Settles like `promise`, or rejects with the abort reason at once: not every stream obeys its signal. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) {
      promise.catch(() => undefined);
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
