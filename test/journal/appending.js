// Appends to a journal for ever, and tells each cursor that was acknowledged. Argument: the journal's file.
import { createSqliteJournal } from "../../dist/sqlite.js";

const journal = await createSqliteJournal({ file: process.argv[2] ?? "" });
const append = (event) => journal.append({ thread: "t", runId: "r", event });
await append({ type: "run.started" });
for (let mark = 0; ; mark++) {
  const burst = Array.from({ length: 1 + (mark % 5) }, (_, index) =>
    append({ type: "subagent.status", mark, index, text: "x".repeat(mark % 700) }),
  );
  const acknowledged = (await Promise.all(burst)).map(({ cursor }) => cursor);
  process.stdout.write(`${acknowledged.join("\n")}\n`);
}
