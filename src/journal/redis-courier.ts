import { type Clock, withinTime } from "../core/clock.js";
import type { CreateId } from "../core/ids.js";
import type { Courier } from "./journal.js";
import { JournalError } from "./journal-error.js";
import type { RedisConnection } from "./redis-connection.js";
import type { RedisKeys } from "./redis-keys.js";

/** How long the other processes may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;

interface Question {
  readonly id: string;
  readonly from: string;
  readonly message: unknown;
}

/** Without `answer` it is somebody else's matter. */
interface Answer {
  readonly id: string;
  readonly answer?: unknown;
}

interface Asked {
  /** Of how many others an answer is still to come; not known before the server said so. */
  left: number | undefined;
  heard: number;
  resolve(answer: unknown): void;
}

/** Asks by the server's channels: who is connected hears it at once, and nothing is kept for who is not. */
export class RedisCourier implements Courier {
  readonly #asked = new Map<string, Asked>();

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly own: string,
    private readonly clock: Clock,
    private readonly createId: CreateId,
  ) {}

  async serve(answer: (message: unknown) => Promise<unknown>): Promise<void> {
    await this.connection.subscribe(this.keys.answers(this.own), (text) => this.#heard(JSON.parse(text)));
    await this.connection.subscribe(this.keys.questions, (text) => {
      const { id, from, message }: Question = JSON.parse(text);
      if (from === this.own) return;
      void answer(message)
        .catch(() => undefined)
        .then((given) => this.#publish(this.keys.answers(from), { id, answer: given } satisfies Answer))
        .catch(() => undefined);
    });
  }

  async ask(message: unknown): Promise<unknown> {
    const id = this.createId("ask");
    const answered = new Promise<{ readonly answer: unknown }>((resolve) => {
      this.#asked.set(id, { left: undefined, heard: 0, resolve: (answer) => resolve({ answer }) });
    });
    try {
      const question: Question = { id, from: this.own, message };
      const hearers = Number(await this.#publish(this.keys.questions, question));
      const asked = this.#asked.get(id);
      if (asked !== undefined) {
        // One of them is this process.
        asked.left = hearers - 1 - asked.heard;
        if (asked.left <= 0) asked.resolve(undefined);
      }
      const given = await withinTime(this.clock, ANSWER_MS, answered);
      if (given !== undefined) return given.answer;
    } finally {
      this.#asked.delete(id);
    }
    throw new JournalError("host_silent", "Another host did not answer in time. Try again.", {
      retryable: true,
    });
  }

  #heard({ id, answer }: Answer): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    if (answer !== undefined) return asked.resolve(answer);
    asked.heard++;
    if (asked.left === undefined) return;
    asked.left--;
    if (asked.left <= 0) asked.resolve(undefined);
  }

  #publish(channel: string, message: Question | Answer): Promise<unknown> {
    return this.connection.command(["PUBLISH", channel, JSON.stringify(message)]);
  }
}
