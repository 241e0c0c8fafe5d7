import { z } from "zod";

const id = z.string().min(1).max(256);

const step = z.object({
  agent: id,
  delegationId: id,
  card: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
});

/** One delegation on the way from a person to a run. */
export type LineageStep = Readonly<z.infer<typeof step>>;

/** Delegations that led to one another, the oldest first. */
export type Lineage = readonly LineageStep[];

/** Steps of a lineage: more than any policy allows; what claims more is cut, and refused by its depth all the same. */
export const MAX_LINEAGE = 16;

/** Key of Troupe's own member in the metadata of messages. */
export const METADATA_KEY = "troupe";

/**
 * Reads the lineage from the metadata of a message. It is the caller's own word: good against loops, no proof of anything.
 * @returns an empty one when there is none, or none that can be read.
 */
export function lineageOf(metadata: unknown): Lineage {
  const shape = z.object({ [METADATA_KEY]: z.object({ lineage: z.array(step) }) });
  const parsed = shape.safeParse(metadata);
  return parsed.success ? (parsed.data[METADATA_KEY]?.lineage.slice(-MAX_LINEAGE) ?? []) : [];
}

/** `lineage` with one delegation more. */
export function extendLineage(lineage: Lineage, next: LineageStep): Lineage {
  return [...lineage, next].slice(-MAX_LINEAGE);
}

/** Whether an agent is at work further up already. */
export function isCycle(lineage: Lineage, agent: string | undefined): boolean {
  return agent !== undefined && lineage.some((earlier) => earlier.agent === agent);
}

/**
 * Why an agent may not delegate to one with this card: chains end at `maxDepth`, and no agent is called by what it started.
 * @returns `undefined` when it may.
 */
export function lineageProblem(
  { lineage = [], agent }: { readonly lineage?: Lineage; readonly agent?: string },
  maxDepth: number,
  card: string | undefined,
): string | undefined {
  if (lineage.length >= maxDepth) {
    return `This run is ${lineage.length} delegations deep already; the host allows ${maxDepth}.`;
  }
  const known = card !== undefined && lineage.some((earlier) => earlier.card === card);
  if (known || isCycle(lineage, agent))
    return "This agent is at work further up already: the delegation would go in a circle.";
  return undefined;
}
