import { z } from "zod";
import type { ApprovalDecision } from "../core/approval.js";
import { defined } from "../core/defined.js";
import { TroupeError } from "../core/errors.js";
import type { Delegator } from "../delegation/delegator.js";
import type { RemoteInput } from "../delegation/remote.js";
import type { Courier } from "../journal/journal.js";
import { owns, type Principal } from "./authoriser.js";
import type { LateWork } from "./late-work.js";
import type { Runs } from "./runs.js";

const decision = z.object({
  decision: z.enum(["approve", "deny"]),
  message: z.string().optional(),
  input: z.unknown().optional(),
});

/** What only the host can do that runs something. */
const command = z.discriminatedUnion("type", [
  z.object({ type: z.literal("cancel_run"), thread: z.string(), runId: z.string(), reason: z.string() }),
  z.object({ type: z.literal("cancel_delegation"), delegationId: z.string(), reason: z.string() }),
  z.object({ type: z.literal("answer_delegation"), delegationId: z.string(), input: z.unknown() }),
  z.object({ type: z.literal("decide"), approvalId: z.string(), tenant: z.string().optional(), decision }),
  z.object({ type: z.literal("read"), thread: z.string() }),
  z.object({ type: z.literal("make_way"), thread: z.string() }),
]);
type Command = z.infer<typeof command>;

/** How a command went. */
const outcome = z.union([
  z.object({ done: z.boolean() }),
  z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }),
]);
type Outcome = z.infer<typeof outcome>;

/** What {@link Commands} works with. */
export interface CommandsOptions {
  readonly runs: () => Runs;
  readonly delegator: () => Delegator;
  readonly lateWork: () => LateWork;
  /** Absent where there is no other host. */
  readonly courier?: Courier | undefined;
}

/** Stops, answers and decides what runs at this host, or else at another one on the same journal. */
export class Commands {
  constructor(private readonly options: CommandsOptions) {}

  /** Does what other hosts ask for from now on. */
  async serve(): Promise<void> {
    await this.options.courier?.serve(async (message) => {
      const parsed = command.safeParse(message);
      return parsed.success ? this.#perform(parsed.data) : undefined;
    });
  }

  /** Stops a run, and what goes on without it. @returns whether it was running anywhere. */
  cancelRun({ thread, runId }: { thread: string; runId: string }, reason: string): Promise<boolean> {
    return this.#anywhere({ type: "cancel_run", thread, runId, reason });
  }

  /** @returns whether the delegation was running anywhere. */
  cancelDelegation(delegationId: string, reason: string): Promise<boolean> {
    return this.#anywhere({ type: "cancel_delegation", delegationId, reason });
  }

  /**
   * Answers what a delegation asks.
   * @throws TroupeError as {@link Delegator.reply}.
   */
  async answer(delegationId: string, input: RemoteInput): Promise<void> {
    if (await this.#anywhere({ type: "answer_delegation", delegationId, input })) return;
    throw new TroupeError("nothing_asked", "The delegation is over.");
  }

  /** @returns whether a run of the principal waited for this decision. */
  decide({ tenant }: Principal, approvalId: string, decision: ApprovalDecision): Promise<boolean> {
    return this.#anywhere({ type: "decide", approvalId, decision, ...defined({ tenant }) });
  }

  /** Tells the others that somebody reads a thread here. */
  async tellReading(thread: string): Promise<void> {
    await this.options.courier?.ask({ type: "read", thread } satisfies Command).catch(() => undefined);
  }

  /** Asks the others to end a run that only holds late work of a thread. @returns whether one did. */
  async askToMakeWay(thread: string): Promise<boolean> {
    const answer = await this.options.courier?.ask({ type: "make_way", thread } satisfies Command);
    return outcome.safeParse(answer).success;
  }

  /** @throws what stands against it there, or JournalError `host_silent`. */
  async #anywhere(wanted: Command): Promise<boolean> {
    const here = await this.#perform(wanted);
    const answer = here ?? (await this.options.courier?.ask(wanted));
    const { data } = outcome.safeParse(answer);
    if (data === undefined) return false;
    if ("done" in data) return data.done;
    throw new TroupeError(data.code, data.message, { retryable: data.retryable });
  }

  /** @returns `undefined` when it is another host's matter. */
  async #perform(wanted: Command): Promise<Outcome | undefined> {
    const runs = this.options.runs();
    const delegator = this.options.delegator();
    switch (wanted.type) {
      case "cancel_run": {
        const run = runs.find(wanted.thread, wanted.runId)?.run;
        void run?.cancel(wanted.reason);
        const stopped = delegator
          .list(wanted)
          .filter(({ identity }) => delegator.cancel(identity.delegationId, wanted.reason));
        return run === undefined && stopped.length === 0 ? undefined : { done: true };
      }
      case "cancel_delegation":
        return delegator.cancel(wanted.delegationId, wanted.reason) ? { done: true } : undefined;
      case "answer_delegation": {
        const known = delegator.get(wanted.delegationId);
        if (known === undefined || known.state.phase === "over") return undefined;
        try {
          await delegator.reply(wanted.delegationId, wanted.input as RemoteInput);
          return { done: true };
        } catch (error) {
          if (!(error instanceof TroupeError)) throw error;
          const { code, message, retryable } = error;
          return { code, message, retryable };
        }
      }
      case "decide": {
        const mine = runs.active((thread) => owns(defined({ tenant: wanted.tenant }), thread));
        const given = { ...wanted.decision, ...defined({ message: wanted.decision.message }) };
        const decided = mine.some(({ run }) => run?.decide(wanted.approvalId, given as ApprovalDecision));
        return decided ? { done: true } : undefined;
      }
      case "read":
        if (runs.activeIn(wanted.thread) === undefined) return undefined;
        runs.readElsewhere(wanted.thread);
        return { done: true };
      case "make_way":
        return this.options.lateWork().makeWay(wanted.thread) ? { done: true } : undefined;
    }
  }
}
