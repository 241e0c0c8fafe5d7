import type { ThreadEntry } from "../../bridges/agui/event.js";
import type { RunView } from "../../client/view.js";
import type { Printer } from "./printer.js";

/** One journal entry a line, for programs. */
export class JsonPrinter implements Printer {
  update(_run: RunView, entry: ThreadEntry): void {
    this.print(entry);
  }

  print({ cursor, runId, time, event }: ThreadEntry): void {
    process.stdout.write(`${JSON.stringify({ cursor, runId, time, event })}\n`);
  }

  note(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  end(): void {}

  close(): void {}
}
