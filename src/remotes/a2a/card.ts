import { createHash } from "node:crypto";
import { z } from "zod";
import { parseJson } from "../../wire/json.js";

/** One way to call an agent. */
export interface CardInterface {
  readonly url: string;
  /** `JSONRPC`, `HTTP+JSON`, `GRPC`, …; upper case. */
  readonly binding: string;
  /** The protocol's generation, which decides about the wire format. */
  readonly version: "1.0" | "0.3" | "unknown";
  /** Sent with every call; empty for none. */
  readonly tenant: string;
}

/** What we need of an agent card, whichever version wrote it. */
export interface Card {
  readonly name: string;
  readonly description: string;
  readonly skills: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    /** As the card has it, without a change. */
    readonly inputSchema?: unknown;
  }[];
  readonly streaming: boolean;
  /** URIs of the extensions that a caller must support. */
  readonly requiredExtensions: readonly string[];
  readonly interfaces: readonly CardInterface[];
  /** sha256 of the card's bytes, hexadecimal. */
  readonly fingerprint: string;
}

const text = z.string().catch("");

/** A list in which what is not understood is left out, so that one odd member does not cost the whole card. */
function listOf<T extends z.ZodType>(item: T) {
  return z
    .array(z.unknown())
    .catch([])
    .transform((members) =>
      members.flatMap((member) => {
        const parsed = item.safeParse(member);
        return parsed.success ? [parsed.data] : [];
      }),
    );
}

const cardSchema = z.object({
  name: text,
  description: text,
  skills: listOf(
    z.object({ id: z.string().min(1), name: text, description: text, inputSchema: z.unknown().optional() }),
  ),
  capabilities: z
    .object({
      streaming: z.boolean().catch(false),
      extensions: listOf(z.object({ uri: z.string(), required: z.boolean().catch(false) })),
    })
    .catch({ streaming: false, extensions: [] }),
  // Version 1.0
  supportedInterfaces: listOf(
    z.object({
      url: z.string().min(1),
      protocolBinding: z.string().catch("JSONRPC"),
      protocolVersion: text,
      tenant: text,
    }),
  ),
  // Version 0.3 and before
  url: text,
  preferredTransport: z.string().catch("JSONRPC"),
  additionalInterfaces: listOf(z.object({ url: z.string().min(1), transport: z.string().catch("JSONRPC") })),
});

/**
 * Reads a card liberally: unknown members are ignored, missing ones have defaults.
 * @param options `signed`: only what the card's signature covers counts
 * @returns `undefined` when `raw` is JSON, but no card: it names no way to call an agent.
 * @throws WireError `malformed` when it is not acceptable JSON.
 */
export function parseCard(raw: string, options: { readonly signed?: boolean } = {}): Card | undefined {
  const parsed = cardSchema.safeParse(parseJson(raw));
  if (!parsed.success) return undefined;
  const { name, description, skills, capabilities, ...card } = parsed.data;
  const interfaces: CardInterface[] = card.supportedInterfaces.map((item) => ({
    url: item.url,
    binding: item.protocolBinding.toUpperCase(),
    version: generation(item.protocolVersion),
    tenant: item.tenant,
  }));
  // A top-level URL is the old shape, whatever `protocolVersion` says: cards with "0.2.0" or none at all are in use.
  // A signature covers the members of version 1.0 only: anybody may have put another URL beside them.
  if (card.url !== "" && !options.signed) {
    interfaces.push(legacy(card.url, card.preferredTransport));
    for (const item of card.additionalInterfaces) {
      if (item.url !== card.url || item.transport !== card.preferredTransport) {
        interfaces.push(legacy(item.url, item.transport));
      }
    }
  }
  if (interfaces.length === 0) return undefined;
  return {
    name,
    description,
    skills: skills.map(({ inputSchema, ...skill }) =>
      typeof inputSchema === "object" && inputSchema !== null ? { ...skill, inputSchema } : skill,
    ),
    streaming: capabilities.streaming,
    requiredExtensions: capabilities.extensions.filter(({ required }) => required).map(({ uri }) => uri),
    interfaces,
    fingerprint: createHash("sha256").update(raw).digest("hex"),
  };
}

function legacy(url: string, transport: string): CardInterface {
  return { url, binding: transport.toUpperCase(), version: "0.3", tenant: "" };
}

/** Only the new shape has versions per interface, so an absent one means 1.0. */
function generation(version: string): CardInterface["version"] {
  const [major, minor] = version.trim().split(".");
  if (major === "" || major === "1") return "1.0";
  return major === "0" && Number(minor ?? 0) <= 3 ? "0.3" : "unknown";
}
