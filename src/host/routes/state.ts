import { z } from "zod";
import { defined } from "../../core/defined.js";
import type { DelegationState } from "../../delegation/delegation-state.js";
import { owns, type Principal, threadIdOf } from "../authoriser.js";
import { delegationHistory } from "../delegation-history.js";
import { HttpError, notFound } from "../http-error.js";
import type { RunRecord } from "../runs.js";
import { type HostApp, type HostContext, jsonBody, type RouteEnvironment } from "./environment.js";

const cancelBody = z.strictObject({ reason: z.string().max(500).optional() });
const inputBody = z
  .strictObject({
    text: z.string().max(1_000_000).optional(),
    data: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ text, data }) => text !== undefined || data !== undefined, "text or data is needed");
const decisionBody = z.strictObject({
  decision: z.enum(["approve", "deny"]),
  message: z.string().max(10_000).optional(),
  input: z.unknown().optional(),
});

/** Routes that show and stop runs and delegations, and answer approvals. */
export function stateRoutes(app: HostApp, environment: RouteEnvironment): void {
  const { runs, delegator, artifacts, journal } = environment;

  const findRun = (context: HostContext): RunRecord => {
    const record = runs.byId(context.req.param("runId") ?? "", (thread) =>
      owns(context.get("principal"), thread),
    );
    if (record === undefined) throw notFound("run");
    return record;
  };
  const findDelegation = (principal: Principal, id: string) => {
    const known = delegator.get(id);
    if (known === undefined || !owns(principal, known.run.thread)) throw notFound("delegation");
    return known;
  };

  app.get("/runs/:runId", (context) => {
    const record = findRun(context);
    const delegations = delegator.list(record).map(({ identity }) => identity.delegationId);
    return context.json({ ...showRun(record), delegations });
  });

  app.get("/runs/:runId/delegations", (context) => {
    return context.json({ delegations: delegator.list(findRun(context)).map(showDelegation) });
  });

  app.post("/runs/:runId/cancel", async (context) => {
    const { reason } = parse(cancelBody, await jsonBody(context));
    const record = findRun(context);
    void record.run?.cancel(reason ?? "user");
    return context.json({ runId: record.runId, status: record.status }, 202);
  });

  app.get("/delegations/:id", async (context) => {
    const { run, state } = findDelegation(context.get("principal"), context.req.param("id"));
    const first = await runs.find(run.thread, run.runId)?.first;
    const { delegationId } = state.identity;
    const history =
      first === undefined ? [] : await delegationHistory(journal, run.thread, first, delegationId);
    return context.json({ ...showDelegation(state), threadId: threadIdOf(run.thread), history });
  });

  app.post("/delegations/:id/cancel", async (context) => {
    const { reason } = parse(cancelBody, await jsonBody(context));
    const { state } = findDelegation(context.get("principal"), context.req.param("id"));
    delegator.cancel(state.identity.delegationId, reason ?? "user");
    return context.json({ delegationId: state.identity.delegationId, status: statusOf(state) }, 202);
  });

  app.post("/delegations/:id/input", async (context) => {
    const { text, data } = parse(inputBody, await jsonBody(context));
    const { state } = findDelegation(context.get("principal"), context.req.param("id"));
    const answer = { ...defined({ text, data }) };
    await delegator.reply(state.identity.delegationId, answer);
    return context.json({ delegationId: state.identity.delegationId }, 202);
  });

  app.post("/approvals/:id", async (context) => {
    const { decision, message, input } = parse(decisionBody, await jsonBody(context));
    const answer = {
      decision,
      ...defined({ message, input }),
    };
    const mine = runs.active((thread) => owns(context.get("principal"), thread));
    if (mine.some(({ run }) => run?.decide(context.req.param("id"), answer)))
      return context.json({ decision }, 202);
    throw new HttpError(
      409,
      "already_decided",
      "Nothing waits for this decision: it is decided, withdrawn, or was never asked.",
    );
  });

  app.get("/delegations/:id/artifacts/:artifactId", async (context) => {
    const { state } = findDelegation(context.get("principal"), context.req.param("id"));
    const stored = await artifacts.get(state.identity.delegationId, context.req.param("artifactId"));
    if (stored === undefined) throw notFound("artifact");
    const { name, mimeType, sha256 } = stored.description;
    return context.body(Uint8Array.from(stored.bytes), 200, {
      "content-type": mimeType,
      // RFC 6266; the plain form is for clients that know no other.
      "content-disposition": `attachment; filename="${name.replace(/[^\w.-]/g, "_")}"; filename*=UTF-8''${encodeURIComponent(name).replace(/'/g, "%27")}`,
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
      etag: `"${sha256}"`,
    });
  });
}

function showRun({ runId, thread, agent, status, startedAt, endedAt, error }: RunRecord) {
  return { runId, threadId: threadIdOf(thread), agent, status, startedAt, endedAt, error };
}

function showDelegation(state: DelegationState) {
  const { identity, objective, correlation, cardFingerprint, artifacts, answer, seen, stop, question } =
    state;
  return {
    ...identity,
    status: statusOf(state),
    objective,
    correlation,
    cardFingerprint,
    remoteStatus: state.status,
    stop,
    question,
    artifacts: artifacts.map(({ artifact, error }) => ({ ...artifact, error })),
    seen,
    result: answer,
  };
}

function statusOf({ phase, answer, question }: DelegationState): string {
  if (phase === "over") return answer?.status ?? "failed";
  if (phase === "stopping") return "stopping";
  return question === undefined ? "working" : "needs_input";
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new HttpError(
    400,
    "invalid_input",
    `${issue?.path.join(".") || "body"}: ${issue?.message ?? "not valid"}`,
  );
}
