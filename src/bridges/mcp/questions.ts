import { errorText, TroupeError } from "../../core/errors.js";
import type { RemoteQuestion } from "../../delegation/remote.js";
import type { RunDelegations } from "../../delegation/run-delegations.js";
import { formSchema, readForm } from "./elicitation.js";
import type { McpForm } from "./tool.js";

/** Forms for one delegation. A client gives up after ten rounds of one call; the answer before that is better. */
const MAX_ROUNDS = 8;

/** What was asked last of one delegation. */
interface Asked {
  readonly question: RemoteQuestion;
  /** Names the question in its form, so that a late answer is not taken for one to the next. */
  readonly key: string;
  readonly rounds: number;
  /** The form was closed without an answer: others may still give one. */
  readonly dismissed?: true;
  /** Why the last answer was none. */
  readonly problem?: string;
}

/** Asks the questions of one run's delegations through its MCP client, and passes on what the person says. */
export class Questions {
  readonly #asked = new Map<string, Asked>();
  #count = 0;

  constructor(private readonly delegations: RunDelegations) {}

  /** The form for what a delegation asks now; `undefined` when it asks nothing that this client should be asked. */
  form(delegationId: string): McpForm | undefined {
    const { question, inputRequired } = this.delegations.state(delegationId) ?? {};
    if (question === undefined || inputRequired !== "surface") return undefined;
    const before = this.#asked.get(delegationId);
    const rounds = before?.rounds ?? 0;
    const asked =
      before?.question === question ? before : { question, key: `question-${++this.#count}`, rounds };
    this.#asked.set(delegationId, asked);
    if (asked.dismissed || rounds >= MAX_ROUNDS) return undefined;
    const message = asked.problem === undefined ? question.prompt : `${asked.problem}\n${question.prompt}`;
    return { key: asked.key, message, schema: formSchema(question) };
  }

  /** Counts one more round for the client. */
  asking(delegationId: string): void {
    const asked = this.#asked.get(delegationId);
    if (asked !== undefined) this.#asked.set(delegationId, { ...asked, rounds: asked.rounds + 1 });
  }

  /** The question that the client closed without an answer. */
  dismissed(delegationId: string): RemoteQuestion | undefined {
    const asked = this.#asked.get(delegationId);
    return asked?.dismissed ? asked.question : undefined;
  }

  /** Takes the client's answers. One to a question that is answered already, or was never asked, changes nothing. */
  async take(delegationId: string, answers: Readonly<Record<string, unknown>>): Promise<void> {
    const asked = this.#asked.get(delegationId);
    const current = this.delegations.state(delegationId)?.question;
    if (asked === undefined || asked.question !== current || !Object.hasOwn(answers, asked.key)) return;
    const read = readForm(asked.question, answers[asked.key]);
    switch (read.outcome) {
      case "declined":
        return this.delegations.decline(delegationId);
      case "dismissed":
        this.#asked.set(delegationId, { ...asked, dismissed: true });
        return;
      case "unusable":
        this.#asked.set(delegationId, { ...asked, problem: read.why });
        return;
      case "answered":
        await this.delegations.answer(delegationId, read.input).catch((error: unknown) => {
          // Somebody else was faster.
          if (error instanceof TroupeError && error.code === "nothing_asked") return;
          this.#asked.set(delegationId, { ...asked, problem: errorText(error, 300) });
        });
    }
  }
}
