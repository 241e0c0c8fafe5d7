import { createInterface } from "node:readline/promises";

/** The person has left: Ctrl-C, or the end of the input. */
export class QuestionsClosed extends Error {}

/** What an answer means, or why it cannot be taken. */
export type Answer<T> = { readonly value: T } | { readonly problem: string };

/** Asks a person in the terminal. Standard output stays free for the result. */
export interface Questions {
  /**
   * Asks until the answer can be taken.
   * @throws QuestionsClosed
   */
  ask<T>(question: string, take: (answer: string) => Answer<T>): Promise<T>;
  say(line: string): void;
  close(): void;
}

/** Asks on standard error, and reads standard input. */
export function createQuestions(): Questions {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const gone = new AbortController();
  lines.on("close", () => gone.abort());
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  return {
    say,
    async ask(question, take) {
      for (;;) {
        if (gone.signal.aborted) throw new QuestionsClosed();
        // A question that is open when the input ends would wait for ever.
        const answer = await lines.question(question, { signal: gone.signal }).catch((error: unknown) => {
          throw gone.signal.aborted ? new QuestionsClosed() : error;
        });
        const taken = take(answer.trim());
        if ("value" in taken) return taken.value;
        say(`  ${taken.problem}`);
      }
    },
    close: () => lines.close(),
  };
}
