/** What is looked at, in the order of the report. */
export type Area = "config" | "agents" | "sub-agents" | "tools" | "journal" | "port";

/** One thing that was looked at. */
export interface Finding {
  readonly area: Area;
  /** What it is about: a name out of the config. */
  readonly subject: string;
  /** `warning`: it works, but not as one may think. */
  readonly state: "ok" | "warning" | "problem";
  readonly text: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** A tool as the model of a local agent sees it. */
export interface SeenTool {
  readonly name: string;
  /** Its description's first words. */
  readonly description: string;
  /** Of all that the model gets of it, in bytes of JSON. */
  readonly bytes: number;
  /** Of its schemas alone. */
  readonly schemaBytes: number;
}
