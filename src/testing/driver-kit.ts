import type { Driver } from "../core/driver.js";

/** One thing that the program of a scenario does. Texts may hold `{{prompt}}` and `{{result.N}}`. */
export type DriverStep =
  | {
      readonly say: string;
      /** Milliseconds between two words. Default none. */
      readonly delayMs?: number;
    }
  /** Calls of MCP tools by their own names, at once where the program can. */
  | { readonly tools: readonly { readonly name: string; readonly input?: unknown; readonly id?: string }[] }
  /** A tool of the program's own that asks for permission first; `output` is its result when it may run. */
  | { readonly ask: { readonly command: string; readonly output: string } }
  /** Nothing more happens; only a cancel or a signal ends it. */
  | { readonly hang: true }
  | { readonly exit: number }
  | { readonly die: NodeJS.Signals }
  /** A line on standard output that the program's protocol does not know. */
  | { readonly garbage: string }
  | { readonly stderr: string };

/** What one run's program does with its prompt. */
export interface DriverScenario {
  readonly steps: readonly DriverStep[];
  /** It has lost every old conversation. */
  readonly forgetful?: boolean;
}

/** A driver whose program plays a scenario. */
export interface PlayedDriver {
  readonly driver: Driver;
  /** Added to the agent's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ends what was started for it, such as a scripted model. */
  close?(): Promise<void>;
}

/** What the conformance suite has to know of a driver. */
export interface DriverKit {
  /** As `describe()` has it. */
  readonly name: string;
  /** Where a call's id is in `_meta` of the request to an MCP server; without one, calls are found by tool and arguments. */
  readonly callIdKey?: string;
  play(scenario: DriverScenario): PlayedDriver | Promise<PlayedDriver>;
  /** The driver with a program that does not exist. */
  missing(): Driver;
  /** The driver with a program that is too old. */
  tooOld?(): PlayedDriver;
}
