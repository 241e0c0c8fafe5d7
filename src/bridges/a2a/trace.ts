import type { Artifact } from "@a2a-js/sdk";
import { type OpenCalls, TRACE_EXTENSION, traceMetadata, tracePieces } from "../../wire/trace.js";
import type { FaceEvent } from "./face-host.js";
import type { ExposurePolicy } from "./options.js";
import { artifactOf, dataPart } from "./parts.js";

/** A piece of a trace artifact, as the SDK has artifacts. */
export interface TraceArtifact {
  readonly artifact: Artifact;
  readonly append: boolean;
  readonly last: boolean;
}

/** What an event shows beside the agent's words, as far as the policy lets it out. */
export function encodeTrace(
  event: FaceEvent,
  time: number,
  exposure: ExposurePolicy,
  calls: OpenCalls,
): TraceArtifact[] {
  return tracePieces(event, exposure, calls).map(({ name, id, data, append, last }) => ({
    artifact: artifactOf(`${name}-${id}`, name, [dataPart(data)], {
      extensions: [TRACE_EXTENSION],
      metadata: traceMetadata(name, time),
    }),
    append,
    last,
  }));
}
