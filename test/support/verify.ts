import { transformChunks, verifyEvents } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";
import * as client58 from "ag-ui-client-0-0-58";
import * as client59 from "ag-ui-client-0-0-59";
import { from, lastValueFrom, toArray } from "rxjs";
import type { Frame } from "./frames.js";

/** Which clients a stream has to be valid for. */
export type ClientVersion = "1.0.0" | "0.0.59" | "0.0.58";

interface Schemas {
  parse(event: unknown): unknown;
}

const clients: Record<ClientVersion, { schemas: Schemas; expand: unknown; verify: unknown }> = {
  "1.0.0": { schemas: EventSchemas, expand: transformChunks, verify: verifyEvents },
  "0.0.59": {
    schemas: client59.EventSchemas,
    expand: client59.transformChunks,
    verify: client59.verifyEvents,
  },
  "0.0.58": {
    schemas: client58.EventSchemas,
    expand: client58.transformChunks,
    verify: client58.verifyEvents,
  },
};

type Stage = (debug?: boolean) => (source: ReturnType<typeof from>) => ReturnType<typeof from>;

/**
 * Runs frames through the parser and the verifier of AG-UI's own client, chunks expanded as it does it.
 * @throws what the client throws for a stream that is not valid.
 */
export async function verify(frames: readonly Frame[], version: ClientVersion = "1.0.0"): Promise<void> {
  const { schemas, expand, verify: operator } = clients[version];
  const events = frames.map(({ event }) => schemas.parse(event));
  const expanded = await lastValueFrom((expand as Stage)()(from(events as never[])).pipe(toArray()));
  const verified = await lastValueFrom((operator as Stage)(false)(from(expanded)).pipe(toArray()));
  const chunks = frames.filter(({ event }) => event.type.endsWith("_CHUNK")).length;
  if (verified.length !== expanded.length || expanded.length < events.length - chunks)
    throw new Error(`${expanded.length - verified.length} events were dropped`);
}
