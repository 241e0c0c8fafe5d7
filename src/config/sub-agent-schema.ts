import { z } from "zod";
import { policySchema } from "./policy-schema.js";

/** A name that can be part of a tool's name. */
export const key = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'letters, digits, "-" and "_", at most 64');

/** An address of a server. */
export const httpUrl = z.url({
  protocol: /^https?$/,
  error: "must be a URL that begins with http:// or https://",
});

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

const shape = z.strictObject({
  name: key,
  protocol: z.enum(["a2a", "agui", "local"], { error: 'must be "a2a", "agui" or "local"' }).optional(),
  /** Goes before the policy of all. */
  policy: policySchema.optional(),
  auth: auth.optional(),
  trustedOrigins: z.array(httpUrl).optional(),
  agentCardUrl: httpUrl.optional(),
  endpointUrlOverride: httpUrl.optional(),
  url: httpUrl.optional(),
  title: z.string().min(1).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  resume: z.enum(["none", "repost"]).optional(),
  stopUrl: httpUrl.optional(),
  state: z.enum(["ignore", "artifact"]).optional(),
  unansweredTools: z.enum(["ask", "complete"]).optional(),
  /** The key of one of the config's agents. */
  agent: key.optional(),
  description: z.string().min(1).optional(),
});

/** A sub-agent of a config that was checked. */
export type ConfiguredSubAgent = z.infer<typeof shape>;

type Protocol = NonNullable<ConfiguredSubAgent["protocol"]>;
type Member = keyof ConfiguredSubAgent;

/** Where each protocol's agents are to be found. */
const ADDRESS = { a2a: "agentCardUrl", agui: "url", local: "agent" } as const;

/** Members that not every protocol has. */
const MEMBERS: Readonly<Record<Protocol, readonly Member[]>> = {
  a2a: ["agentCardUrl", "endpointUrlOverride", "auth", "trustedOrigins"],
  agui: [
    "url",
    "title",
    "headers",
    "resume",
    "stopUrl",
    "state",
    "unansweredTools",
    "auth",
    "trustedOrigins",
    "description",
  ],
  local: ["agent", "description"],
};

/** The protocol of an entry, which its address tells when it does not say so itself. */
export function protocolOf({ protocol, agent, url, agentCardUrl }: ConfiguredSubAgent): Protocol {
  if (protocol !== undefined) return protocol;
  if (agentCardUrl !== undefined) return "a2a";
  if (agent !== undefined) return "local";
  return url === undefined ? "a2a" : "agui";
}

/** An agent that the local ones may call. */
export const subAgentSchema = shape.superRefine((entry, context) => {
  const protocol = protocolOf(entry);
  const refuse = (member: Member, message: string) =>
    context.addIssue({ code: "custom", path: [member], message });
  const address = ADDRESS[protocol];
  if (entry[address] === undefined) {
    refuse(
      address,
      entry.protocol === undefined
        ? 'is missing; agents that speak AG-UI have a "url" instead, and agents of this host an "agent"'
        : `is missing for protocol "${protocol}"`,
    );
  }
  const others = new Set(Object.values(MEMBERS).flat());
  for (const member of MEMBERS[protocol]) others.delete(member);
  for (const member of others) {
    if (entry[member] !== undefined) refuse(member, `has no meaning for protocol "${protocol}"`);
  }
});
