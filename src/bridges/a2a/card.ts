import { createHash } from "node:crypto";
import { AgentCard } from "@a2a-js/sdk";
import { TRACE_EXTENSION } from "../../wire/trace.js";
import {
  type A2aAgentOptions,
  type A2aInboundAuth,
  type A2aSkill,
  exposesTrace,
  exposurePolicy,
} from "./options.js";

/** What an agent's card is made of. */
export interface CardSetup extends A2aAgentOptions {
  readonly key: string;
  readonly name: string;
  readonly version: string;
  /** How callers are known; absent when there is nothing to be shown, or the host does not say how. */
  readonly auth?: A2aInboundAuth | undefined;
}

/** A card as it is served. */
export interface ServedCard {
  readonly body: string;
  /** RFC 9110 entity tag. */
  readonly etag: string;
}

const MODES = ["text/plain", "application/json"];

/** The card of an agent that is reached at `url`. */
export function agentCard(setup: CardSetup, url: string): AgentCard {
  const { key, name, description = `The local agent ${name}.`, version, auth, extended } = setup;
  const interfaces = ["1.0", "0.3"].flatMap((protocolVersion) =>
    ["JSONRPC", "HTTP+JSON"].map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion,
      tenant: "",
    })),
  );
  return AgentCard.fromJSON({
    name,
    description,
    version,
    supportedInterfaces: interfaces,
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: extended !== undefined,
      extensions: exposesTrace(exposurePolicy(setup.exposure))
        ? [
            {
              uri: TRACE_EXTENSION,
              description: "Artifacts that list this extension show what the agent does beside its answer.",
              required: false,
            },
          ]
        : [],
    },
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: (setup.skills ?? [{ id: key, name, description }]).map(skillOf),
    ...securityOf(auth),
  });
}

/** The card for callers who are known. */
export function extendedCard(setup: CardSetup, url: string): AgentCard {
  const { description = setup.description, skills = setup.skills } = setup.extended ?? {};
  return agentCard(
    {
      ...setup,
      ...(description === undefined ? {} : { description }),
      ...(skills === undefined ? {} : { skills }),
    },
    url,
  );
}

/**
 * A card for clients of 1.0 and of 0.3 alike, as JSON: each finds its own members and passes over the others. Most clients know
 * 0.3 only, and find no agent at all in a card of 1.0.
 */
export function mergedCard(card: AgentCard): Readonly<Record<string, unknown>> {
  const url = card.supportedInterfaces[0]?.url ?? "";
  const json = AgentCard.toJSON(card) as Record<string, unknown>;
  const schemes = Object.entries((json.securitySchemes ?? {}) as Record<string, SchemeJson>);
  const security = schemes.length === 0 ? {} : { security: schemes.map(([name]) => ({ [name]: [] })) };
  return {
    ...json,
    url,
    preferredTransport: "JSONRPC",
    protocolVersion: "0.3.0",
    additionalInterfaces: ["JSONRPC", "HTTP+JSON"].map((transport) => ({ url, transport })),
    supportsAuthenticatedExtendedCard: card.capabilities?.extendedAgentCard === true,
    ...security,
    ...(schemes.length === 0
      ? {}
      : {
          securitySchemes: Object.fromEntries(
            schemes.map(([name, scheme]) => [name, { ...legacyScheme(scheme), ...scheme }]),
          ),
        }),
  };
}

/** The card of an agent that is reached at `url`, ready to be sent. */
export function servedCard(setup: CardSetup, url: string): ServedCard {
  const body = JSON.stringify(mergedCard(agentCard(setup, url)));
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"` };
}

/** Name of the header that holds an API key. */
export function keyHeader(auth: A2aInboundAuth): string {
  return auth.mode === "api_key" ? (auth.headerName ?? "X-API-Key") : "Authorization";
}

function skillOf({ id, name, description, tags = ["agent"], examples = [] }: A2aSkill) {
  return { id, name, description, tags, examples };
}

function schemeName({ mode }: A2aInboundAuth): string {
  return mode === "bearer" ? "bearer" : "apiKey";
}

function securityOf(auth: A2aInboundAuth | undefined) {
  if (auth === undefined) return {};
  const scheme =
    auth.mode === "bearer"
      ? { httpAuthSecurityScheme: { scheme: "Bearer" } }
      : { apiKeySecurityScheme: { location: "header", name: keyHeader(auth) } };
  return {
    securitySchemes: { [schemeName(auth)]: scheme },
    securityRequirements: [{ schemes: { [schemeName(auth)]: { list: [] } } }],
  };
}

interface SchemeJson {
  readonly httpAuthSecurityScheme?: { readonly scheme: string };
  readonly apiKeySecurityScheme?: { readonly location: string; readonly name: string };
}

function legacyScheme({ httpAuthSecurityScheme: http, apiKeySecurityScheme: apiKey }: SchemeJson) {
  if (http !== undefined) return { type: "http", scheme: http.scheme };
  return { type: "apiKey", in: apiKey?.location, name: apiKey?.name };
}
