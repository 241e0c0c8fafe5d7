/** What leaves the host beside the agent's words. Everything is off by default. */
export interface A2aExposure {
  /** The agent's thoughts. */
  readonly reasoning?: boolean;
  /** Tool calls: `none`, their `names`, or `full`, with arguments and results of at most 32,000 characters each. */
  readonly tools?: "none" | "names" | "full";
  /** Paths of the files that the agent's own tools change. */
  readonly files?: boolean;
  /** Tokens and money. */
  readonly usage?: boolean;
}

/** A skill of an agent card. */
export interface A2aSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags?: readonly string[];
  readonly examples?: readonly string[];
}

/** How one agent is shown to A2A clients. */
export interface A2aAgentOptions {
  /** Name on the card; the agent's own by default. */
  readonly name?: string;
  /** What it is good for, for people and models that choose among agents. */
  readonly description?: string;
  /** One skill that takes any task by default. */
  readonly skills?: readonly A2aSkill[];
  readonly exposure?: A2aExposure;
  /**
   * Who answers what the agent asks: the `caller`, whose task becomes `input-required` (default), or only the people at the `host`,
   * while the task goes on being `working`.
   */
  readonly asks?: "caller" | "host";
  /** Card for callers who are known, in place of the public one's words. Without it there is no extended card. */
  readonly extended?: { readonly description?: string; readonly skills?: readonly A2aSkill[] };
}

/** Credentials that A2A clients may show, each under the caller's name. Tasks of one caller do not exist for another. */
export type A2aInboundAuth =
  | { readonly mode: "bearer"; readonly tokens: Readonly<Record<string, string>> }
  | {
      readonly mode: "api_key";
      readonly keys: Readonly<Record<string, string>>;
      /** `X-API-Key` by default. */
      readonly headerName?: string;
    };

/** Exposure with nothing left open. */
export type ExposurePolicy = Required<A2aExposure>;

/** Fills in what was not said. */
export function exposurePolicy(exposure: A2aExposure = {}): ExposurePolicy {
  return { reasoning: false, tools: "none", files: false, usage: false, ...exposure };
}

/** Whether anything is told beside the agent's words. */
export function exposesTrace({ reasoning, tools, files, usage }: ExposurePolicy): boolean {
  return reasoning || tools !== "none" || files || usage;
}
