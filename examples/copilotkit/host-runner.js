import { AgentRunner } from "@copilotkit/runtime/v2";
import { Observable } from "rxjs";

const ATTEMPTS = 5;

/**
 * Runs of CopilotKit's runtime on a Troupe host. The host's log is the only record: a reload, a second tab and a runtime that was
 * started again read it, and a connection to the host that breaks goes on after the last event.
 */
export class HostRunner extends AgentRunner {
  /** The runs that go on, by thread. */
  #active = new Map();

  /**
   * @param url the host's address.
   * @param agent the agent's key there.
   */
  constructor({ url, agent }) {
    super();
    this.url = url;
    this.agent = agent;
  }

  run({ threadId, input }) {
    return this.#read(threadId, `/agents/${encodeURIComponent(this.agent)}/run`, input);
  }

  connect({ threadId }) {
    return this.#read(threadId, `/threads/${encodeURIComponent(threadId)}/connect`, {});
  }

  async isRunning({ threadId }) {
    return this.#active.has(threadId);
  }

  /** Ends the run, not the stream: it goes on to tell how the subagents and the run ended. */
  async stop({ threadId, runId }) {
    const active = this.#active.get(threadId);
    if (active === undefined || (runId !== undefined && runId !== active)) return false;
    const { ok } = await this.#post(`/runs/${encodeURIComponent(active)}/cancel`, { reason: "user" });
    return ok;
  }

  #read(threadId, path, body) {
    return new Observable((subscriber) => {
      const left = new AbortController();
      this.#follow(threadId, path, body, subscriber, left.signal).catch((error) => {
        if (left.signal.aborted) return;
        subscriber.next({ type: "RUN_ERROR", message: error.message, code: "host_unreachable" });
        subscriber.complete();
      });
      return () => left.abort();
    });
  }

  async #follow(threadId, path, body, subscriber, signal) {
    let last;
    let running = false;
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.#post(`${path}?subagents=custom`, body, signal, last);
        if (!response.ok) {
          const { error } = await response.json();
          subscriber.next({ type: "RUN_ERROR", message: error.message, code: error.code });
          return subscriber.complete();
        }
        for await (const { id, event } of framesOf(response.body)) {
          attempt = 0;
          last = id ?? last;
          running = this.#note(threadId, event) ?? running;
          subscriber.next(event);
        }
        if (!running) return subscriber.complete();
      } catch (error) {
        if (signal.aborted || attempt >= ATTEMPTS) throw error;
      }
      if (attempt >= ATTEMPTS) throw new Error("The host closed the stream before the run's end.");
      await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** attempt));
    }
  }

  /** @returns whether a run goes on, if the event says something about it. */
  #note(threadId, { type, runId }) {
    if (type === "RUN_STARTED") this.#active.set(threadId, runId);
    else if (type === "RUN_FINISHED" || type === "RUN_ERROR") this.#active.delete(threadId);
    else return undefined;
    return type === "RUN_STARTED";
  }

  #post(path, body, signal, last) {
    return fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(last !== undefined && { "last-event-id": last }) },
      body: JSON.stringify(body),
      signal,
    });
  }
}

/** A host's frames are `id: <cursor>` and one line of data, with LF; comments are heartbeats. */
async function* framesOf(body) {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const frames = (rest + text).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) yield { id: /^id: (.*)$/m.exec(frame)?.[1], event: JSON.parse(data) };
    }
  }
}
