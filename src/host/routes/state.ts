import { z } from "zod";
import { defined } from "../../core/defined.js";
import type { DelegationState } from "../../delegation/delegation-state.js";
import { owns, type Principal, threadIdOf } from "../authoriser.js";
import { delegationHistory } from "../delegation-history.js";
import { HttpError, notFound } from "../http-error.js";
import { recordedDelegation, recordedDelegations } from "../recorded-delegation.js";
import type { RunRecord } from "../runs.js";
import { artifactResponse } from "./artifact-response.js";
import { type HostApp, type HostContext, jsonBody, type RouteEnvironment } from "./environment.js";
import type {
  CancelBody,
  DecisionAnswer,
  DecisionBody,
  DelegationAnswer,
  DelegationCancelAnswer,
  DelegationDetails,
  DelegationsAnswer,
  InputAnswer,
  InputBody,
  RunAnswer,
  RunCancelAnswer,
  RunDetails,
} from "./shapes.js";

const cancelBody: z.ZodType<CancelBody> = z.strictObject({ reason: z.string().max(500).optional() });
const inputBody: z.ZodType<InputBody> = z
  .strictObject({
    text: z.string().max(1_000_000).optional(),
    data: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ text, data }) => text !== undefined || data !== undefined, "text or data is needed");
const decisionBody: z.ZodType<DecisionBody> = z.strictObject({
  decision: z.enum(["approve", "deny"]),
  message: z.string().max(10_000).optional(),
  input: z.unknown().optional(),
});

/** Routes that show and stop runs and delegations, and answer approvals. */
export function stateRoutes(app: HostApp, environment: RouteEnvironment): void {
  const { runs, commands, delegator, artifacts, journal } = environment;

  const findRun = async (context: HostContext): Promise<RunRecord> => {
    const record = await runs.recallById(context.req.param("runId") ?? "", (thread) =>
      owns(context.get("principal"), thread),
    );
    if (record === undefined) throw notFound("run");
    return record;
  };
  const findDelegation = async (principal: Principal, id: string) => {
    const mine = (thread: string) => owns(principal, thread);
    const known = delegator.get(id) ?? (await recordedDelegation(journal, id, mine));
    if (known === undefined || !mine(known.run.thread)) throw notFound("delegation");
    return known;
  };
  const delegationsOf = async (record: RunRecord): Promise<DelegationState[]> =>
    record.recorded ? recordedDelegations(journal, record, await record.first) : delegator.list(record);

  app.get("/runs/:runId", async (context) => {
    const record = await findRun(context);
    const delegations = (await delegationsOf(record)).map(({ identity }) => identity.delegationId);
    return context.json({ ...showRun(record), delegations } satisfies RunDetails);
  });

  app.get("/runs/:runId/delegations", async (context) => {
    const delegations = await delegationsOf(await findRun(context));
    return context.json({ delegations: delegations.map(showDelegation) } satisfies DelegationsAnswer);
  });

  app.post("/runs/:runId/cancel", async (context) => {
    const { reason } = parse(cancelBody, await jsonBody(context));
    const record = await findRun(context);
    await commands.cancelRun(record, reason ?? "user");
    const answer: RunCancelAnswer = { runId: record.runId, status: record.status };
    return context.json(answer, 202);
  });

  app.get("/delegations/:id", async (context) => {
    const { run, state } = await findDelegation(context.get("principal"), context.req.param("id"));
    const first = await (await runs.recall(run.thread, run.runId))?.first;
    const { delegationId } = state.identity;
    const history =
      first === undefined ? [] : await delegationHistory(journal, run.thread, first, delegationId);
    const answer: DelegationDetails = {
      ...showDelegation(state),
      threadId: threadIdOf(run.thread),
      history,
    };
    return context.json(answer);
  });

  app.post("/delegations/:id/cancel", async (context) => {
    const { reason } = parse(cancelBody, await jsonBody(context));
    const { state } = await findDelegation(context.get("principal"), context.req.param("id"));
    if (state.phase !== "over")
      await commands.cancelDelegation(state.identity.delegationId, reason ?? "user");
    const answer: DelegationCancelAnswer = {
      delegationId: state.identity.delegationId,
      status: statusOf(state),
    };
    return context.json(answer, 202);
  });

  app.post("/delegations/:id/input", async (context) => {
    const { text, data } = parse(inputBody, await jsonBody(context));
    const { state } = await findDelegation(context.get("principal"), context.req.param("id"));
    const answer = { ...defined({ text, data }) };
    await commands.answer(state.identity.delegationId, answer);
    return context.json({ delegationId: state.identity.delegationId } satisfies InputAnswer, 202);
  });

  app.post("/approvals/:id", async (context) => {
    const { decision, message, input } = parse(decisionBody, await jsonBody(context));
    const answer = {
      decision,
      ...defined({ message, input }),
    };
    if (await commands.decide(context.get("principal"), context.req.param("id"), answer))
      return context.json({ decision } satisfies DecisionAnswer, 202);
    throw new HttpError(
      409,
      "already_decided",
      "Nothing waits for this decision: it is decided, withdrawn, or was never asked.",
    );
  });

  app.get("/delegations/:id/artifacts/:artifactId", async (context) => {
    const { state } = await findDelegation(context.get("principal"), context.req.param("id"));
    const stored = await artifacts.get(state.identity.delegationId, context.req.param("artifactId"));
    if (stored === undefined) throw notFound("artifact");
    return artifactResponse(context, stored);
  });
}

function showRun({ runId, thread, agent, status, startedAt, endedAt, error }: RunRecord): RunAnswer {
  return { runId, threadId: threadIdOf(thread), agent, status, startedAt, endedAt, error };
}

function showDelegation(state: DelegationState): DelegationAnswer {
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
