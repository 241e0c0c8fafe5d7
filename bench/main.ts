// npm run bench [-- --json] [-- --only NAME]
import { parseArgs } from "node:util";
import { callRows } from "./calls.js";
import { crowdRows } from "./crowd.js";
import { deltaRows } from "./deltas.js";
import { endRows } from "./endings.js";
import { faceRows } from "./faces.js";
import { hostRows } from "./hosts.js";
import { journalRows } from "./journal.js";
import type { Row } from "./measure.js";
import { turnRows } from "./turns.js";

const GROUPS: Record<string, () => Promise<Row[]>> = {
  delta: deltaRows,
  call: callRows,
  end: endRows,
  crowd: crowdRows,
  journal: journalRows,
  face: faceRows,
  turn: turnRows,
  host: hostRows,
};

const { values } = parseArgs({ options: { json: { type: "boolean" }, only: { type: "string" } } });
/** Rows that are not named after their group. */
const ROW_GROUPS: Readonly<Record<string, string>> = { lag: "end", cancel: "end" };
const prefix = values.only?.split("-")[0] ?? "";
const group = values.only === undefined ? undefined : (ROW_GROUPS[prefix] ?? prefix);
const wanted = Object.entries(GROUPS).filter(([name]) => group === undefined || group === name);
if (wanted.length === 0) {
  console.error(
    `There is no benchmark "${values.only}". Groups: ${Object.keys(GROUPS).join(", ")}; or the name of a row.`,
  );
  process.exit(2);
}

const rows: Row[] = [];
for (const [name, measure] of wanted) {
  if (!values.json) console.error(`measuring ${name} …`);
  rows.push(
    ...(await measure()).filter(
      (row) => values.only === undefined || values.only in GROUPS || row.name === values.only,
    ),
  );
}

if (values.json) console.log(JSON.stringify({ node: process.version, rows }));
else {
  const shown = rows.map(({ name, what, unit, troupe, baseline, against, ratio }) => ({
    row: name,
    what,
    troupe: `${format(troupe)} ${unit}`,
    baseline: `${format(baseline)} ${unit}`,
    against,
    ratio: ratio.toFixed(2),
  }));
  console.table(shown);
}
process.exit(0);

function format(value: number): string {
  return value >= 1_000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
