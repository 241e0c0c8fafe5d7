import { verifyEvents } from "@ag-ui/client";
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

const clients: Record<ClientVersion, { schemas: Schemas; verify: unknown }> = {
  "1.0.0": { schemas: EventSchemas, verify: verifyEvents },
  "0.0.59": { schemas: client59.EventSchemas, verify: client59.verifyEvents },
  "0.0.58": { schemas: client58.EventSchemas, verify: client58.verifyEvents },
};

/**
 * Runs frames through the parser and the verifier of AG-UI's own client.
 * @throws what the client throws for a stream that is not valid.
 */
export async function verify(frames: readonly Frame[], version: ClientVersion = "1.0.0"): Promise<void> {
  const { schemas, verify: operator } = clients[version];
  const events = frames.map(({ event }) => schemas.parse(event));
  const run = operator as (debug: boolean) => (source: ReturnType<typeof from>) => ReturnType<typeof from>;
  const verified = await lastValueFrom(run(false)(from(events as never[])).pipe(toArray()));
  if (verified.length !== events.length)
    throw new Error(`${events.length - verified.length} events were dropped`);
}
