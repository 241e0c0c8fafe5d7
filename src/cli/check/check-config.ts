import type { ExaminedConfig } from "../../config/load.js";
import { problemText } from "../../config/problems.js";
import { placeText } from "../../config/substitute.js";
import type { Finding } from "./finding.js";

/** What a config says of itself: whether it is valid, and whether its variables are there. */
export function checkConfig({ file, problems, variables, missing, loaded }: ExaminedConfig): Finding[] {
  const area = "config";
  const findings: Finding[] = problems.map((problem) => ({
    area,
    subject: file,
    state: "problem",
    text: problemText(problem),
    remedy: "correct it there; docs/configuration.md has all keys, and `$schema` shows them in your editor",
  }));
  if (loaded !== undefined) {
    const { agents, subAgents } = loaded.config;
    const counts = [
      counted(Object.keys(agents).length, "agent"),
      counted(subAgents?.agents.length ?? 0, "sub-agent"),
    ];
    findings.push({ area, subject: file, state: "ok", text: `is valid: ${counts.join(", ")}` });
  }
  for (const name of variables) findings.push({ area, subject: name, state: "ok", text: "is set" });
  for (const { name, places } of missing) {
    findings.push({
      area,
      subject: name,
      state: "problem",
      text: `is not set; it is wanted at ${places.map(placeText).join(", ")}`,
      remedy: `export ${name}=…, or write \${${name}:-default}`,
    });
  }
  return findings;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
