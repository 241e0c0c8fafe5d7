import { ConfigError } from "../config/config-error.js";
import { type ExaminedConfig, examineConfig, findConfig, type LoadedConfig } from "../config/load.js";
import type { ConfiguredSubAgent } from "../config/sub-agent-schema.js";
import { type Place, placeText } from "../config/substitute.js";
import { systemClock } from "../core/clock.js";
import { checkAgents } from "./check/check-agents.js";
import { checkConfig } from "./check/check-config.js";
import { checkJournal, checkPort } from "./check/check-place.js";
import { checkRemote } from "./check/check-remote.js";
import { seenTools } from "./check/check-tools.js";
import type { Finding, SeenTool } from "./check/finding.js";
import { reportLines } from "./check/report.js";
import { EXIT } from "./exit-code.js";
import { lookForAgents } from "./program-look.js";
import { createProgress, type Progress } from "./progress.js";

/** Options of `troupe check`. */
export interface CheckOptions {
  readonly config?: string;
  readonly json?: boolean;
}

interface Checked {
  readonly findings: readonly Finding[];
  readonly tools: readonly SeenTool[];
}

const DEFAULT_PROBE_MS = 5_000;

/**
 * `troupe check`: looks at everything that a config names, and says what to do about what does not work. Nothing is changed, and no
 * task is sent.
 * @returns 0 when all is well, 1 when something does not work, 2 when the config is wrong.
 */
export async function checkCommand({ config: named, json }: CheckOptions): Promise<number> {
  const file = named ?? findConfig(process.cwd());
  if (file === undefined)
    throw new ConfigError(
      "There is no troupe.config.json here. `troupe init` writes one; --config names another.",
    );
  const progress = createProgress();
  const examined = await progress.during("the config", examineConfig(file, process.env));
  const { findings, tools } = await check(examined, progress).finally(() => progress.close());
  const ok = !findings.some(({ state }) => state === "problem");
  if (json) console.log(JSON.stringify({ ok, config: examined.file, findings, tools }));
  else for (const line of reportLines(findings, tools)) console.log(line);
  if (examined.problems.length > 0) return EXIT.usage;
  return ok ? EXIT.done : EXIT.failed;
}

async function check(examined: ExaminedConfig, progress: Progress): Promise<Checked> {
  const found = checkConfig(examined);
  const { loaded } = examined;
  if (loaded === undefined) return { findings: found, tools: [] };
  const { config } = loaded;
  const { ready, skipped } = askable(examined, loaded);
  const limits = {
    timeoutMs: config.subAgents?.options?.probeTimeoutMs ?? DEFAULT_PROBE_MS,
    clock: systemClock,
  };
  const isMissing = (member: string) =>
    examined.missing.some(({ places }) => places.some(([top]) => top === member));
  const [agents, remotes, tools, places] = await Promise.all([
    isMissing("agents") ? [] : progress.during("programs", lookForAgents(loaded)),
    Promise.all(ready.map((entry) => progress.during(entry.name, checkRemote(entry, limits)))),
    progress.during("tools", seenTools(config, ready, limits)),
    Promise.all([
      ...(isMissing("journal") ? [] : [progress.during("the journal", checkJournal(loaded, systemClock))]),
      ...(isMissing("serve") ? [] : [progress.during("the port", checkPort(loaded, systemClock))]),
    ]),
  ]);
  return { findings: [...found, ...checkAgents(agents), ...remotes, ...skipped, ...places], tools };
}

/** Sub-agents whose variables are all there. The others are not asked: it would be without their credential. */
function askable(
  { missing }: ExaminedConfig,
  { config }: LoadedConfig,
): { readonly ready: ConfiguredSubAgent[]; readonly skipped: Finding[] } {
  const ready: ConfiguredSubAgent[] = [];
  const skipped: Finding[] = [];
  const isWanted = (place: Place) =>
    missing.some(({ places }) => places.some((other) => placeText(other) === placeText(place)));
  for (const [index, entry] of (config.subAgents?.agents ?? []).entries()) {
    const lacking = missing.filter(({ places }) =>
      places.some(([top, list, at]) => top === "subAgents" && list === "agents" && at === index),
    );
    if (lacking.length === 0) {
      ready.push(entry);
      continue;
    }
    const names = lacking.map(({ name }) => `\${${name}}`).join(", ");
    skipped.push({
      area: "sub-agents",
      subject: isWanted(["subAgents", "agents", index, "name"]) ? `entry ${index + 1}` : entry.name,
      state: "warning",
      text: `not asked, because ${names} is missing`,
    });
  }
  return { ready, skipped };
}
