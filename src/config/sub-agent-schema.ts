import { z } from "zod";
import { policySchema } from "./policy-schema.js";

/** A name that can be part of a tool's name. */
export const key = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be letters, digits, "-" and "_", at most 64');

/** An address of a server. */
export const httpUrl = z.url({
  protocol: /^https?$/,
  error: "must be a URL that begins with http:// or https://",
});

const auth = z.discriminatedUnion("mode", [
  z.strictObject({ mode: z.literal("none") }).describe("No credential."),
  z
    .strictObject({
      mode: z.literal("bearer"),
      token: z.string().min(1).describe("Write ${VARIABLE}, not the token itself."),
    })
    .describe("Authorization: Bearer …"),
  z
    .strictObject({
      mode: z.literal("api_key"),
      key: z.string().min(1).optional().describe("Write ${VARIABLE}, not the key itself."),
      token: z.string().min(1).optional().describe("Another name of `key`, which a2a-wrapper uses."),
      headerName: z.string().min(1).optional().describe("The header of the key; X-API-Key by default."),
    })
    .refine(({ key, token }) => (key === undefined) !== (token === undefined), {
      path: ["key"],
      error: "is needed, once: `key`, or `token` instead",
    })
    .describe("A key in a header of its own."),
  z
    .strictObject({
      mode: z.literal("oauth2"),
      tokenUrl: httpUrl.describe("Where tokens are asked for. The secret goes there only."),
      clientId: z.string().min(1).describe("The client's public name."),
      clientSecret: z.string().min(1).describe("Write ${VARIABLE}, not the secret itself."),
      scope: z.string().min(1).optional().describe("What the token is asked for."),
    })
    .describe("OAuth 2 client credentials."),
]);

const shape = z.strictObject({
  name: key.describe("What the model calls it; different for each."),
  protocol: z
    .enum(["a2a", "agui", "local"], { error: 'must be "a2a", "agui" or "local"' })
    .optional()
    .describe("What it speaks. By default its address says it: agentCardUrl, url or agent."),
  policy: policySchema.optional().describe("Goes before the policy of all."),
  auth: auth.optional().describe("How calls prove who they are. Goes to the entry's own origins only."),
  trustedOrigins: z
    .array(httpUrl)
    .optional()
    .describe("More origins that may be called, with the credential."),
  agentCardUrl: httpUrl
    .optional()
    .describe("A2A: the card's full URL, or a base URL under which /.well-known/agent-card.json is tried."),
  endpointUrlOverride: httpUrl
    .optional()
    .describe("A2A: where calls really go; the URL of a card, or of the endpoint itself."),
  signature: z
    .enum(["off", "if-present", "required"])
    .optional()
    .describe('A2A: whether the card\'s signature is checked. "if-present" with signatureKeys, else "off".'),
  signatureKeys: z
    .array(z.looseObject({ kid: z.string().min(1).describe("The key's id.") }))
    .min(1)
    .optional()
    .describe("A2A: public keys (JSON Web Keys) that may sign the card."),
  url: httpUrl.optional().describe("AG-UI: the endpoint that runs the agent."),
  title: z.string().min(1).optional().describe("AG-UI: its name for people."),
  headers: z.record(z.string(), z.string()).optional().describe("AG-UI: headers of each call."),
  resume: z
    .enum(["none", "repost"])
    .optional()
    .describe("AG-UI: whether a lost stream is gone on with by posting the run again."),
  stopUrl: httpUrl.optional().describe("AG-UI: where a run is stopped."),
  state: z
    .enum(["ignore", "artifact"])
    .optional()
    .describe("AG-UI: whether the agent's state becomes a file."),
  unansweredTools: z
    .enum(["ask", "complete"])
    .optional()
    .describe("AG-UI: what a tool call that waits for the client means: a question, or nothing."),
  agent: key.optional().describe("Local: the key of one of the config's agents."),
  description: z
    .string()
    .min(1)
    .optional()
    .describe("AG-UI and local: what it can do, for the model. A2A agents have a card for it."),
});

/** A sub-agent of a config that was checked. */
export type ConfiguredSubAgent = z.infer<typeof shape>;

type Protocol = NonNullable<ConfiguredSubAgent["protocol"]>;
type Member = keyof ConfiguredSubAgent;

/** Where each protocol's agents are to be found. */
const ADDRESS = { a2a: "agentCardUrl", agui: "url", local: "agent" } as const;

/** Members that not every protocol has. */
const MEMBERS: Readonly<Record<Protocol, readonly Member[]>> = {
  a2a: ["agentCardUrl", "endpointUrlOverride", "signature", "signatureKeys", "auth", "trustedOrigins"],
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
  if (entry.signature === "required" && entry.signatureKeys === undefined)
    refuse("signatureKeys", 'are needed with signature "required"');
});
