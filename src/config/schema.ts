import { z } from "zod";
import { policySchema } from "./policy-schema.js";
import { httpUrl, key, subAgentSchema } from "./sub-agent-schema.js";

const a2aSkill = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  description: z.string().min(1),
  tags: z.array(z.string()).optional(),
  examples: z.array(z.string()).optional(),
});

/** How an agent is shown to A2A clients. */
const a2aAgent = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().min(1).optional(),
  skills: z.array(a2aSkill).min(1).optional(),
  exposure: z
    .strictObject({
      reasoning: z.boolean().optional(),
      tools: z.enum(["none", "names", "full"]).optional(),
      files: z.boolean().optional(),
      usage: z.boolean().optional(),
    })
    .optional(),
  asks: z.enum(["caller", "host"]).optional(),
});

/** Who may call the agents that are shown: credentials by the callers' names. */
const a2aAuth = z.discriminatedUnion("mode", [
  z.strictObject({ mode: z.literal("bearer"), tokens: z.record(key, z.string().min(1)) }),
  z.strictObject({
    mode: z.literal("api_key"),
    keys: z.record(key, z.string().min(1)),
    headerName: z.string().min(1).optional(),
  }),
]);

const mode = z.enum(["ask", "allow", "deny"]);

/** Who decides what an agent asks: its permissions alone, or by kind. */
const permissions = z.union(
  [mode, z.strictObject({ permission: mode.optional(), plan: mode.optional(), question: mode.optional() })],
  { error: 'must be "ask", "allow" or "deny", or these by kind: permission, plan, question' },
);

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*\*?$/, 'a variable\'s name, or its start and "*"');

/** Drivers of programs that speak the Agent Client Protocol. */
const ACP_DRIVERS: readonly string[] = ["acp", "gemini", "opencode"];

const localAgent = z
  .strictObject({
    driver: z.enum(["claude", "codex", "gemini", "opencode", "cursor", "acp"]),
    workspace: z.string().optional(),
    model: z.string().optional(),
    permissions: permissions.optional(),
    /** Milliseconds until an unanswered approval is denied. */
    approvalTimeoutMs: z.int().positive().max(86_400_000).optional(),
    /** The program, when it is not on PATH under its usual name. */
    executable: z.string().optional(),
    /** The program and its arguments; for `acp` only, which has no usual one. */
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    /** Names of variables that the program gets from the host's environment; for `acp`, `gemini` and `opencode`. */
    environment: z.array(variableName).optional(),
    /** What the program's shell and edits may touch; for `codex` only. */
    sandbox: z.enum(["read-only", "workspace-write", "danger-full-access"]).optional(),
    /** Whether and how A2A clients may call it. */
    a2a: z.union([z.boolean(), a2aAgent]).optional(),
  })
  .refine(({ driver, sandbox }) => driver === "codex" || sandbox === undefined, {
    path: ["sandbox"],
    error: "is for codex only",
  })
  .refine(({ driver, command }) => driver !== "acp" || command !== undefined, {
    path: ["command"],
    error: "is needed: the program that speaks the Agent Client Protocol",
  })
  .refine(({ driver, command }) => driver === "acp" || command === undefined, {
    path: ["command"],
    error: "is for acp only; other drivers have `executable`",
  })
  .refine(({ driver, args }) => driver === "acp" || args === undefined, {
    path: ["args"],
    error: "is for acp only",
  })
  .refine(({ driver, executable }) => driver !== "acp" || executable === undefined, {
    path: ["executable"],
    error: "is not for acp, which has `command` and `args`",
  })
  .refine(({ driver, environment }) => ACP_DRIVERS.includes(driver) || environment === undefined, {
    path: ["environment"],
    error: "is for acp, gemini and opencode only",
  });

function hasUniqueNames(agents: readonly { readonly name: string }[]): boolean {
  return new Set(agents.map(({ name }) => name)).size === agents.length;
}

const journal = z
  .string()
  .regex(/^memory$|^sqlite:.|^rediss?:\/\/./, 'must be "memory", "sqlite:FILE" or "redis://…"');

const shape = z.strictObject({
  $schema: z.string().optional(),
  /** None are needed to give the sub-agents to an MCP client. */
  agents: z.record(key, localAgent).default({}),
  subAgents: z
    .strictObject({
      agents: z.array(subAgentSchema).refine(hasUniqueNames, "two of them have the same name"),
      options: z
        .strictObject({
          responseMode: policySchema.shape.responseMode,
          policy: policySchema.optional(),
          toolset: z.enum(["generic", "skills", "both"]).optional(),
          syncBudgetMs: z.int().positive().optional(),
          probeTimeoutMs: z.int().positive().optional(),
        })
        .optional(),
    })
    .optional(),
  journal: journal.optional(),
  serve: z
    .strictObject({
      hostname: z.string().optional(),
      port: z.int().min(0).max(65_535).optional(),
      /** Where others reach the host: for files that go to remotes by reference, and for agent cards. */
      publicUrl: httpUrl.optional(),
    })
    .optional(),
  /** Who may call the agents that are shown to A2A clients. */
  a2a: z.strictObject({ auth: a2aAuth }).optional(),
});

/** The shape of `troupe.config.json`. */
export const configSchema = shape.superRefine(({ agents, subAgents }, context) => {
  for (const [index, entry] of (subAgents?.agents ?? []).entries()) {
    if (entry.agent === undefined || Object.hasOwn(agents, entry.agent)) continue;
    const path = ["subAgents", "agents", index, "agent"];
    context.addIssue({ code: "custom", path, message: `there is no "${entry.agent}" among the agents` });
  }
});

/** A config that was checked. */
export type Config = z.infer<typeof configSchema>;
