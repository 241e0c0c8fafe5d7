import { randomUUID } from "node:crypto";
import { type ConfiguredSubAgent, protocolOf } from "../../config/sub-agent-schema.js";
import { type Clock, withinTime } from "../../core/clock.js";
import { errorText, type TroupeError } from "../../core/errors.js";
import { Connector } from "../../remotes/a2a/connection.js";
import { describeFailure, isRefusal, isTaskNotFound } from "../../remotes/a2a/failure.js";
import { checkOptions as checkA2aOptions } from "../../remotes/a2a/options.js";
import { checkOptions as checkAguiOptions, entryOrigins } from "../../remotes/agui/options.js";
import { Credentials } from "../../remotes/http/credentials.js";
import { WireError } from "../../wire/errors.js";
import { createGuardedClient } from "../../wire/guarded-client.js";
import { printableUrl } from "../../wire/origin.js";
import { a2aOptionsOf, aguiOptionsOf } from "../config-remotes.js";
import type { Finding } from "./finding.js";

type Outcome = Pick<Finding, "state" | "text" | "remedy">;

/**
 * Asks a sub-agent what it is, and whether it takes the credential. No task is sent: of A2A agents the card and a task that cannot
 * exist are asked for, AG-UI agents get a GET.
 * @param timeoutMs for all of it.
 */
export async function checkRemote(
  entry: ConfiguredSubAgent,
  { timeoutMs, clock }: { readonly timeoutMs: number; readonly clock: Clock },
): Promise<Finding> {
  const abort = new AbortController();
  const asking = ask(entry, abort.signal, clock).catch(
    (error: unknown): Outcome => ({ state: "problem", text: errorText(error), remedy: "correct its entry" }),
  );
  const outcome = (await withinTime(clock, timeoutMs, asking)) ?? {
    state: "problem" as const,
    text: `no answer within ${timeoutMs} ms`,
    remedy: "start it, or set options.probeTimeoutMs higher",
  };
  abort.abort();
  return { area: "sub-agents", subject: entry.name, ...outcome };
}

const REMEDY = {
  address: "start it, or correct its address",
  credential: "correct its `auth`; is the variable's value the right one?",
  missing: "add `auth` to its entry",
  policy: "if it is right, say so in the entry: `trustedOrigins`, `endpointUrlOverride` or `signatureKeys`",
  unsupported: "ask who runs it for an interface that is supported",
} as const;

function ask(entry: ConfiguredSubAgent, signal: AbortSignal, clock: Clock): Promise<Outcome> {
  switch (protocolOf(entry)) {
    case "local":
      return Promise.resolve({ state: "ok", text: `local: the agent "${entry.agent ?? ""}" of this config` });
    case "agui":
      return askAgui(entry, signal, clock);
    case "a2a":
      return askA2a(entry, signal);
  }
}

async function askA2a(entry: ConfiguredSubAgent, signal: AbortSignal): Promise<Outcome> {
  const options = a2aOptionsOf(entry);
  checkA2aOptions(options);
  const connector = new Connector(options);
  const { redact } = connector;
  const url = options.endpointUrlOverride ?? options.agentCardUrl;
  try {
    const { card, interface: chosen, channel } = await connector.connect(signal);
    const { binding, version, url: endpoint } = chosen;
    const known = [
      redact(card.name) || "(no name)",
      `A2A ${version} ${binding} at ${printableUrl(endpoint)}`,
      ...(options.signatureKeys === undefined || options.signature === "off"
        ? []
        : [options.signature === "required" ? "signature valid" : "signature valid, if there is one"]),
    ].join(", ");
    const answer = await channel.get(`troupe-check-${randomUUID()}`, { signal }).then(
      () => undefined,
      (error: unknown) => error,
    );
    signal.throwIfAborted();
    if (answer === undefined || isTaskNotFound(answer))
      return { state: "ok", text: `${known}, ${taken(entry)}` };
    const denied = refused(answer, entry);
    if (denied !== undefined) return denied;
    const { message } = describeFailure(answer, { agent: entry.name, url: endpoint, redact });
    // An agent may answer what it likes to a task that does not exist; it answered.
    return isRefusal(answer) && !isNothingThere(answer)
      ? { state: "ok", text: `${known}, ${taken(entry)}` }
      : { state: "problem", text: message, remedy: "correct its address, or the one that its card names" };
  } catch (error) {
    if (signal.aborted) throw error;
    const { code, message } = describeFailure(error, { agent: entry.name, url, redact });
    return refused(error, entry, message) ?? { state: "problem", text: message, remedy: remedyOf(code) };
  } finally {
    await connector.close();
  }
}

async function askAgui(entry: ConfiguredSubAgent, signal: AbortSignal, clock: Clock): Promise<Outcome> {
  const options = aguiOptionsOf(entry);
  checkAguiOptions(options);
  const { name, url, headers = {} } = options;
  const credentials = new Credentials(options, clock);
  const client = createGuardedClient({ clock, origins: entryOrigins(options), acceptStatus: () => true });
  try {
    const status = await credentials.use({ agent: name }, async (credential) => {
      const answer = await client.request(url, { headers: { ...headers, ...credential }, signal });
      answer.cancel();
      return answer.status;
    });
    const there = `AG-UI at ${printableUrl(url)}`;
    if (status === 404 || status === 410)
      return { state: "problem", text: `${there}: nothing there (HTTP ${status})`, remedy: REMEDY.address };
    if (status >= 500)
      return { state: "warning", text: `${there}: HTTP ${status}`, remedy: "look into the agent's own log" };
    return { state: "ok", text: `${there}, ${taken(entry)}` };
  } catch (error) {
    if (signal.aborted) throw error;
    return (
      refused(error, entry) ?? {
        state: "problem",
        text: credentials.redact(errorText(error)),
        remedy: REMEDY.address,
      }
    );
  } finally {
    await Promise.all([client.close(), credentials.close()]);
  }
}

/** What an answer without refusal tells of the credential: agents need not look at it before a task comes. */
function taken({ auth }: ConfiguredSubAgent): string {
  return auth === undefined || auth.mode === "none" ? "asks for no credential" : "takes the credential";
}

function refused(error: unknown, { auth }: ConfiguredSubAgent, message?: string): Outcome | undefined {
  const told = message?.match(/HTTP (40[13])\b/)?.[1];
  const isRefused = error instanceof WireError && error.code === "unauthorized";
  if (!isRefused && told === undefined) return undefined;
  const how = `HTTP ${told ?? (error instanceof WireError ? error.status : undefined) ?? 401}`;
  return auth === undefined || auth.mode === "none"
    ? { state: "problem", text: `it wants a credential (${how})`, remedy: REMEDY.missing }
    : { state: "problem", text: `it refuses the credential (${how})`, remedy: REMEDY.credential };
}

function isNothingThere(error: unknown): boolean {
  return error instanceof WireError && (error.status === 404 || error.status === 405);
}

function remedyOf(code: TroupeError["code"]): string {
  if (code === "policy_denied") return REMEDY.policy;
  return code === "capability_unsupported" ? REMEDY.unsupported : REMEDY.address;
}
