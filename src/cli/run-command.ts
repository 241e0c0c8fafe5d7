import { createEncoder } from "../bridges/agui/encoder.js";
import { createThreadView } from "../client/thread-view.js";
import type { RunView } from "../client/view.js";
import { findConfig, loadConfig, requireAgents } from "../config/load.js";
import { errorText } from "../core/errors.js";
import type { Host, HostRun } from "../host/host.js";
import { createConfiguredHost } from "./config-host.js";
import { createDemoHost } from "./demo-host.js";
import { EXIT } from "./exit-code.js";
import { createProgress } from "./progress.js";
import { warnOfUnreachable } from "./serving.js";
import { openStorage } from "./storage.js";
import { JsonPrinter } from "./tree/json-printer.js";
import { LivePrinter } from "./tree/live-printer.js";
import { PlainPrinter } from "./tree/plain-printer.js";
import type { Printer, Replies } from "./tree/printer.js";

/** Options of `troupe run`. */
export interface RunCommandOptions {
  readonly config?: string;
  readonly agent?: string;
  readonly json?: boolean;
}

/** `troupe run`: one run, shown as a tree. */
export async function runCommand(prompt: string, options: RunCommandOptions): Promise<number> {
  const { host, agent } = await hostFor(options);
  try {
    const started = host.run(agent, prompt);
    const printer = printerFor(options, host, started);
    const restore = cancelOnInterrupt(started, printer);
    try {
      return await show(started, printer);
    } finally {
      restore();
      printer.close();
    }
  } finally {
    await host.close();
  }
}

async function hostFor({ config, agent, json }: RunCommandOptions): Promise<{ host: Host; agent: string }> {
  const file = config ?? findConfig(process.cwd());
  // Where nobody can answer, the model gets a remote's question and decides what to do.
  const overrides = isInteractive(json) ? {} : { policy: { inputRequired: "return" as const } };
  if (file === undefined) {
    if (!json) console.error("No troupe.config.json here: using the scripted demo agents.");
    return { host: await createDemoHost(overrides), agent: agent ?? "claude" };
  }
  const loaded = await loadConfig(file, process.env);
  requireAgents(loaded);
  const host = await createConfiguredHost(loaded, overrides, await openStorage(loaded));
  const progress = createProgress();
  warnOfUnreachable(await progress.during("the remote agents", host.probe()).finally(() => progress.close()));
  return { host, agent: agent ?? Object.keys(loaded.config.agents)[0] ?? "" };
}

async function show({ runId, threadId, entries }: HostRun, printer: Printer): Promise<number> {
  const encode = createEncoder("custom", { threadId, cancelledOutcome: false });
  const thread = createThreadView();
  for await (const entry of entries) {
    const event = encode(entry);
    if (event !== undefined) thread.apply({ cursor: entry.cursor, event });
    const run = thread.run(runId);
    if (run !== undefined) printer.update(run, entry);
  }
  const run = thread.run(runId);
  if (run !== undefined) printer.end(run);
  return exitCodeOf(run);
}

function exitCodeOf(run: RunView | undefined): number {
  if (run?.status === "finished") return EXIT.done;
  return run?.status === "cancelled" ? EXIT.cancelled : EXIT.failed;
}

function isInteractive(json: boolean | undefined): boolean {
  return json !== true && process.stdout.isTTY && process.stdin.isTTY;
}

function printerFor({ json }: RunCommandOptions, host: Host, started: HostRun): Printer {
  if (json) return new JsonPrinter();
  const replies: Replies = {
    decide: (approvalId, approve) => {
      started.run.decide(approvalId, { decision: approve ? "approve" : "deny" });
    },
    answer: (delegationId, text) => {
      host.answer(delegationId, answerOf(text)).catch((error: unknown) => printer.note(errorText(error)));
    },
  };
  const printer = process.stdout.isTTY ? new LivePrinter(replies) : new PlainPrinter(replies);
  return printer;
}

/** An object in JSON is data, for a remote that wants data; everything else is words. */
function answerOf(text: string): { text: string } | { data: unknown } {
  try {
    const data: unknown = JSON.parse(text);
    return typeof data === "object" && data !== null ? { data } : { text };
  } catch {
    return { text };
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first Ctrl-C cancels the run and its remote tasks, the second quits at once. So does the end of whoever reads the output. */
function cancelOnInterrupt({ run }: HostRun, printer: Printer): () => void {
  let asked = false;
  const onInterrupt = () => {
    if (asked) process.exit(EXIT.cancelled);
    asked = true;
    printer.note("Cancelling the run and its remote tasks… Ctrl-C again quits at once.");
    void run.cancel("user");
  };
  const onDeaf = () => void run.cancel("nobody reads the output");
  for (const signal of SIGNALS) process.on(signal, onInterrupt);
  process.stdout.on("error", onDeaf);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onInterrupt);
    process.stdout.off("error", onDeaf);
  };
}
