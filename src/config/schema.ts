import { z } from "zod";

const key = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'letters, digits, "-" and "_", at most 64');

const httpUrl = z.url({ protocol: /^https?$/, error: "must be a URL that begins with http:// or https://" });

const auth = z.discriminatedUnion("mode", [
  z.strictObject({ mode: z.literal("none") }),
  z.strictObject({ mode: z.literal("bearer"), token: z.string().min(1) }),
  z.strictObject({
    mode: z.literal("api_key"),
    key: z.string().min(1),
    headerName: z.string().min(1).optional(),
  }),
  z.strictObject({
    mode: z.literal("oauth2"),
    tokenUrl: httpUrl,
    clientId: z.string().min(1),
    clientSecret: z.string().min(1),
    scope: z.string().min(1).optional(),
  }),
]);

const localAgent = z.strictObject({
  driver: z.literal("claude"),
  workspace: z.string().optional(),
  model: z.string().optional(),
  permissions: z.enum(["ask", "allow", "deny"]).optional(),
  /** The program, when it is not on PATH under its usual name. */
  executable: z.string().optional(),
});

const subAgent = z.strictObject({
  name: key,
  protocol: z.literal("a2a").optional(),
  agentCardUrl: httpUrl,
  endpointUrlOverride: httpUrl.optional(),
  auth: auth.optional(),
  trustedOrigins: z.array(httpUrl).optional(),
});

function hasUniqueNames(agents: readonly { readonly name: string }[]): boolean {
  return new Set(agents.map(({ name }) => name)).size === agents.length;
}

/** The shape of `troupe.config.json`. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  agents: z.record(key, localAgent),
  subAgents: z
    .strictObject({
      agents: z.array(subAgent).refine(hasUniqueNames, "two of them have the same name"),
      options: z
        .strictObject({
          responseMode: z.enum(["artifact", "structured", "compact", "raw"]).optional(),
          toolset: z.enum(["generic", "skills", "both"]).optional(),
          syncBudgetMs: z.int().positive().optional(),
          probeTimeoutMs: z.int().positive().optional(),
        })
        .optional(),
    })
    .optional(),
  serve: z
    .strictObject({ hostname: z.string().optional(), port: z.int().min(0).max(65_535).optional() })
    .optional(),
});

/** A config that was checked. */
export type Config = z.infer<typeof configSchema>;
