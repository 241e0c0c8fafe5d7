import { z } from "zod";
import { policySchema } from "./policy-schema.js";
import { httpUrl, key, subAgentSchema } from "./sub-agent-schema.js";
import { quotedList, suggestion } from "./suggest.js";
import { telemetrySchema } from "./telemetry-schema.js";

const a2aSkill = z.strictObject({
  id: z.string().min(1).describe("Names the skill in calls."),
  name: z.string().min(1).describe("Its name for people."),
  description: z.string().min(1).describe("What it does."),
  tags: z.array(z.string()).optional().describe("Words to find it by."),
  examples: z.array(z.string()).optional().describe("Prompts that it is for."),
});

/** How an agent is shown to A2A clients. */
const a2aAgent = z.strictObject({
  name: z.string().min(1).optional().describe("Its name on the card; the agent's key by default."),
  description: z.string().min(1).optional().describe("What it does, on the card."),
  skills: z
    .array(a2aSkill)
    .min(1)
    .optional()
    .describe("Its skills on the card; one that takes any task by default."),
  exposure: z
    .strictObject({
      reasoning: z.boolean().optional().describe("Its thoughts."),
      tools: z.enum(["none", "names", "full"]).optional().describe("Its tool calls."),
      files: z.boolean().optional().describe("What it changes."),
      usage: z.boolean().optional().describe("Tokens and cost."),
    })
    .optional()
    .describe("What callers see beside its words; nothing by default."),
  asks: z
    .enum(["caller", "host"])
    .optional()
    .describe("Who answers what it asks: the caller, or only the people at the host."),
});

/** Who may call the agents that are shown: credentials by the callers' names. */
const a2aAuth = z.discriminatedUnion("mode", [
  z.strictObject({
    mode: z.literal("bearer"),
    tokens: z.record(key, z.string().min(1)).describe("Tokens by the callers' names. Write ${VARIABLE}."),
  }),
  z.strictObject({
    mode: z.literal("api_key"),
    keys: z.record(key, z.string().min(1)).describe("Keys by the callers' names. Write ${VARIABLE}."),
    headerName: z.string().min(1).optional().describe("The header of the key; X-API-Key by default."),
  }),
]);

const mode = z.enum(["ask", "allow", "deny"]);

/** Who decides what an agent asks: its permissions alone, or by kind. */
const permissions = z.union(
  [
    mode,
    z.strictObject({
      permission: mode.optional().describe("It wants to use a tool."),
      plan: mode.optional().describe("It shows a plan before it begins."),
      question: mode.optional().describe("It asks something."),
    }),
  ],
  { error: 'must be "ask", "allow" or "deny", or these by kind: permission, plan, question' },
);

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*\*?$/, 'a variable\'s name, or its start and "*"');

/** Drivers of programs that speak the Agent Client Protocol. */
const ACP_DRIVERS: readonly string[] = ["acp", "gemini", "opencode"];

const localAgent = z
  .strictObject({
    driver: z
      .enum(["claude", "codex", "gemini", "opencode", "cursor", "acp"])
      .describe("The program: Claude Code, Codex, Gemini CLI, OpenCode, Cursor, or any that speaks ACP."),
    workspace: z
      .string()
      .optional()
      .describe("The folder it works in, relative to the config file; by default that file's folder."),
    model: z.string().optional().describe("A model's name or alias; the program's own by default."),
    permissions: permissions
      .optional()
      .describe(
        'What happens when it asks: a person is asked, or it is allowed or denied. "ask" by default.',
      ),
    approvalTimeoutMs: z
      .int()
      .positive()
      .max(86_400_000)
      .optional()
      .describe("After how long what nobody has answered is denied, in milliseconds; 300,000 by default."),
    executable: z
      .string()
      .optional()
      .describe("The program, when it is not on the PATH under its usual name. Not for acp."),
    command: z.string().min(1).optional().describe("The program; for acp only, which has no usual one."),
    args: z.array(z.string()).optional().describe("The program's arguments; for acp only."),
    environment: z
      .array(variableName)
      .optional()
      .describe("Variables that it gets from the host's environment; for acp, gemini and opencode."),
    sandbox: z
      .enum(["read-only", "workspace-write", "danger-full-access"])
      .optional()
      .describe('What its shell and edits may touch; for codex only. "read-only" by default.'),
    a2a: z
      .union([z.boolean(), a2aAgent])
      .optional()
      .describe("Whether and how A2A clients may call it; false by default."),
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
  $schema: z.string().optional().describe("For your editor."),
  agents: z
    .record(key, localAgent)
    .default({})
    .describe("Local agents by the names that routes and commands have for them. The first is the default."),
  subAgents: z
    .strictObject({
      agents: z
        .array(subAgentSchema)
        .refine(hasUniqueNames, "two of them have the same name")
        .describe("One entry for each. The model can call nothing else."),
      options: z
        .strictObject({
          responseMode: policySchema.shape.responseMode,
          policy: policySchema.optional().describe("What is allowed in delegations to any agent."),
          toolset: z
            .enum(["generic", "skills", "both"])
            .optional()
            .describe("Which tools the model gets: one for all agents, one for each skill, or both."),
          syncBudgetMs: z
            .int()
            .positive()
            .optional()
            .describe(
              "After how long a call answers with a handle, in milliseconds; without end by default.",
            ),
          probeTimeoutMs: z
            .int()
            .positive()
            .optional()
            .describe("How long the agents get to answer at the start, in milliseconds; 5,000 by default."),
        })
        .optional()
        .describe("What holds for all of them."),
    })
    .optional()
    .describe("Agents that the local ones may call."),
  journal: journal
    .optional()
    .describe('Where everything that happens is kept: "memory", "sqlite:FILE" or "redis://…".'),
  serve: z
    .strictObject({
      hostname: z
        .string()
        .optional()
        .describe("The address to listen on, of loopback; 127.0.0.1 by default."),
      port: z.int().min(0).max(65_535).optional().describe("The port; 0 takes a free one. 4100 by default."),
      publicUrl: httpUrl
        .optional()
        .describe(
          "Where others reach the host: for files that go to remotes by reference, and for agent cards.",
        ),
      drainSeconds: z
        .number()
        .min(0)
        .max(3_600)
        .optional()
        .describe(
          "How long what runs may go on after SIGTERM, in seconds; 10 by default, 0 cancels at once.",
        ),
      maxActiveRuns: z
        .int()
        .min(1)
        .optional()
        .describe("Runs at once, each with a program of its own; 100 by default."),
    })
    .optional()
    .describe("Where troupe serve listens."),
  a2a: z
    .strictObject({ auth: a2aAuth.describe("Their credentials.") })
    .optional()
    .describe("Who may call the agents that are shown to A2A clients."),
  telemetry: telemetrySchema.optional().describe("What troupe serve tells its operators."),
});

/** The shape of a config. */
export const configSchema = shape.superRefine(({ agents, subAgents }, context) => {
  const keys = Object.keys(agents);
  for (const [index, entry] of (subAgents?.agents ?? []).entries()) {
    if (entry.agent === undefined || Object.hasOwn(agents, entry.agent)) continue;
    // The value is not told: it may come from a variable.
    const others = keys.length === 0 ? "there are none" : `these are ${quotedList(keys)}`;
    context.addIssue({
      code: "custom",
      path: ["subAgents", "agents", index, "agent"],
      message: `is none of the config's agents; ${others}${suggestion(entry.agent, keys)}`,
    });
  }
});

/** A config that was checked. */
export type Config = z.infer<typeof configSchema>;
