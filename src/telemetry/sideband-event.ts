/** An artifact in the JSON of A2A 1.0, section 5. */
export interface SidebandArtifact {
  readonly artifactId: string;
  /** What kind of trace it is, such as `trace.mcp`. */
  readonly name: string;
  readonly parts: readonly [
    { readonly data: Readonly<Record<string, unknown>>; readonly mediaType: "application/json" },
  ];
  readonly metadata: { readonly traceType: string; readonly timestamp: string };
  readonly extensions: readonly string[];
}

/** One event of the sideband: a `TaskArtifactUpdateEvent` in the JSON of A2A 1.0. */
export interface SidebandEvent {
  /** The run. */
  readonly taskId: string;
  /** The thread. */
  readonly contextId: string;
  readonly artifact: SidebandArtifact;
  /** The data continues those of the artifact's earlier events. */
  readonly append: boolean;
  readonly lastChunk: boolean;
  readonly metadata: {
    /** The agent that runs; absent where its beginning was not seen. */
    readonly agent?: string;
    readonly tenant?: string;
    /** What a delegation's remote did, rather than the run itself. */
    readonly delegationId?: string;
  };
}

/** Where events of the sideband go. */
export interface SidebandSink {
  /** Takes one event. Must not block; what cannot be kept is the sink's to drop. */
  send(event: SidebandEvent): void;
  /** Nothing more comes. Resolves when what was taken is handed on, or given up; bounded. */
  close(): Promise<void>;
}
