import pc from "picocolors";
import { formatBytes } from "../../client/wording.js";
import { flat, wrap } from "../tree/render.js";
import type { Area, Finding, SeenTool } from "./finding.js";

const TITLES: Readonly<Record<Area, string>> = {
  config: "Config",
  agents: "Agents",
  "sub-agents": "Sub-agents",
  tools: "Tools that the model sees",
  journal: "Journal",
  port: "Port",
};
const MARKS = { ok: pc.green("✔"), warning: pc.yellow("!"), problem: pc.red("✖") } as const;
const LABEL = 16;
const WIDTH = 110;

/** The report for people. */
export function reportLines(findings: readonly Finding[], tools: readonly SeenTool[]): string[] {
  const lines: string[] = [];
  for (const area of Object.keys(TITLES) as Area[]) {
    const own = findings.filter((finding) => finding.area === area);
    const rows =
      area === "tools" ? [...tools.map(toolLine), ...own.flatMap(findingLines)] : own.flatMap(findingLines);
    if (rows.length > 0) lines.push(...(lines.length > 0 ? [""] : []), pc.bold(TITLES[area]), ...rows);
  }
  const problems = findings.filter(({ state }) => state === "problem").length;
  const words = problems === 1 ? "1 problem" : `${problems} problems`;
  return [...lines, "", problems === 0 ? `${MARKS.ok} All is well.` : `${MARKS.problem} ${words}.`];
}

function findingLines({ subject, state, text, remedy }: Finding): string[] {
  const indent = " ".repeat(LABEL + 5);
  const [first = "", ...more] = wrap(text, WIDTH - indent.length);
  const name = flat(subject);
  // A long subject has a line of its own.
  const head =
    name.length > LABEL
      ? [`  ${MARKS[state]} ${name}`, indent + first]
      : [`  ${MARKS[state]} ${name.padEnd(LABEL)} ${first}`];
  return [
    ...head,
    ...more.map((line) => indent + line),
    ...(remedy === undefined ? [] : [`${indent}→ ${flat(remedy)}`]),
  ];
}

function toolLine({ name, description, bytes, schemaBytes }: SeenTool): string {
  const sizes = pc.dim(`${formatBytes(bytes)}, schemas ${formatBytes(schemaBytes)}`);
  return `  ${flat(name).padEnd(LABEL + 2)} ${description}  ${sizes}`;
}
