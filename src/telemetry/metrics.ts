import type { Attributes, Meter } from "@opentelemetry/api";
import type { Usage } from "../core/run-event.js";
import {
  AGENT_SECONDS,
  ATTRIBUTE,
  CALL_SECONDS,
  LAG_SECONDS,
  METRIC,
  OPERATION,
  TOKEN_COUNTS,
} from "./conventions.js";

/** The host's instruments. Attributes have few values: keys and names of agents and tools, codes of errors; never ids. */
export class Metrics {
  readonly #activeRuns;
  readonly #activeDelegations;
  readonly #runDuration;
  readonly #delegationDuration;
  readonly #toolDuration;
  readonly #tokens;
  readonly #errors;
  readonly #lag;

  constructor(meter: Meter) {
    const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries } });
    this.#activeRuns = meter.createUpDownCounter(METRIC.activeRuns, {
      unit: "{run}",
      description: "Runs that go on.",
    });
    this.#activeDelegations = meter.createUpDownCounter(METRIC.activeDelegations, {
      unit: "{delegation}",
      description: "Delegations that go on.",
    });
    this.#runDuration = seconds(METRIC.runDuration, "How long runs took.", AGENT_SECONDS);
    this.#delegationDuration = seconds(METRIC.delegationDuration, "How long delegations took.", CALL_SECONDS);
    this.#toolDuration = seconds(METRIC.toolDuration, "How long tool calls took.", CALL_SECONDS);
    this.#tokens = meter.createHistogram(METRIC.tokens, {
      unit: "{token}",
      description: "Tokens of runs, as their programs tell them.",
      advice: { explicitBucketBoundaries: TOKEN_COUNTS },
    });
    this.#errors = meter.createCounter(METRIC.errors, {
      unit: "{error}",
      description: "Runs and delegations that failed, by code.",
    });
    this.#lag = seconds(METRIC.journalLag, "How old entries are when telemetry reads them.", LAG_SECONDS);
  }

  runStarted(agent: string): void {
    this.#activeRuns.add(1, { [ATTRIBUTE.agentName]: agent });
  }

  /** @param error the code, when it failed */
  runEnded(agent: string, milliseconds: number, error?: string): void {
    const attributes = { [ATTRIBUTE.agentName]: agent };
    this.#activeRuns.add(-1, attributes);
    this.#runDuration.record(milliseconds / 1_000, { ...attributes, ...errorAttribute(error) });
    this.#failed("run", agent, error);
  }

  delegationStarted(agentKey: string, protocol: string): void {
    this.#activeDelegations.add(1, delegationAttributes(agentKey, protocol));
  }

  /** @param error the code, when it failed */
  delegationEnded(agentKey: string, protocol: string, milliseconds: number, error?: string): void {
    const attributes = delegationAttributes(agentKey, protocol);
    this.#activeDelegations.add(-1, attributes);
    this.#delegationDuration.record(milliseconds / 1_000, {
      ...attributes,
      [ATTRIBUTE.operation]: OPERATION.agent,
      ...errorAttribute(error),
    });
    this.#failed("delegation", agentKey, error);
  }

  toolEnded(agent: string, tool: string, milliseconds: number, error?: string): void {
    this.#toolDuration.record(milliseconds / 1_000, {
      [ATTRIBUTE.agentName]: agent,
      [ATTRIBUTE.toolName]: tool,
      ...errorAttribute(error),
    });
  }

  tokens(agent: string, { inputTokens, outputTokens }: Usage): void {
    const attributes = { [ATTRIBUTE.operation]: OPERATION.agent, [ATTRIBUTE.agentName]: agent };
    if (inputTokens !== undefined)
      this.#tokens.record(inputTokens, { ...attributes, [ATTRIBUTE.tokenType]: "input" });
    if (outputTokens !== undefined)
      this.#tokens.record(outputTokens, { ...attributes, [ATTRIBUTE.tokenType]: "output" });
  }

  lag(milliseconds: number): void {
    this.#lag.record(Math.max(0, milliseconds) / 1_000);
  }

  #failed(scope: "run" | "delegation", agent: string, error: string | undefined): void {
    if (error === undefined) return;
    this.#errors.add(1, {
      [ATTRIBUTE.scope]: scope,
      [ATTRIBUTE.agentName]: agent,
      [ATTRIBUTE.errorType]: error,
    });
  }
}

function delegationAttributes(agentKey: string, protocol: string): Attributes {
  return { [ATTRIBUTE.agentName]: agentKey, [ATTRIBUTE.protocol]: protocol };
}

function errorAttribute(error: string | undefined): Attributes {
  return error === undefined ? {} : { [ATTRIBUTE.errorType]: error };
}
