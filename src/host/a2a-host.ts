import { createHash, timingSafeEqual } from "node:crypto";
import { keyHeader } from "../bridges/a2a/card.js";
import { A2aFace, type A2aFaceOptions } from "../bridges/a2a/face.js";
import type { A2aAgentOptions, A2aInboundAuth } from "../bridges/a2a/options.js";
import type { Agent } from "../core/agent.js";
import { defined } from "../core/defined.js";
import { VERSION } from "../version.js";
import type { Authorise } from "./authoriser.js";

/** Which agents a host shows to A2A clients, and to whom. */
export interface A2aHostOptions {
  /** By the keys of the host's agents; `true` takes all defaults. */
  readonly agents: Readonly<Record<string, true | A2aAgentOptions>>;
  /**
   * Who may call: credentials, or a function. In place of the host's own `authorise`, which counts otherwise. Cards are open to
   * everybody in any case.
   */
  readonly auth?: A2aInboundAuth | Authorise;
  /** Where clients reach the host, for the cards; what a request asked for by default. */
  readonly publicUrl?: string;
  /** Milliseconds that an ended task is remembered; default one hour. */
  readonly taskTtlMs?: number;
  /** How long a cancel waits for the run to be over, in milliseconds; default 10,000. */
  readonly cancelWaitMs?: number;
}

/** An A2A face and who may use it. */
export interface HostedFace {
  readonly face: A2aFace;
  readonly authorise?: Authorise;
  readonly publicUrl?: string;
  /** Tells who is refused what to show. */
  readonly challenge: string;
}

/**
 * Puts the face of a host together.
 * @throws TypeError for an agent that the host does not have.
 */
export function createHostedFace(
  { agents, auth, publicUrl, taskTtlMs, cancelWaitMs }: A2aHostOptions,
  known: ReadonlyMap<string, Agent>,
  rest: Pick<
    A2aFaceOptions,
    "runs" | "journal" | "threadKey" | "identityOf" | "clock" | "createId" | "disconnectGraceMs"
  >,
): HostedFace {
  const credentials = typeof auth === "object" ? auth : undefined;
  const shown = Object.entries(agents).map(([key, options]) => {
    const agent = known.get(key);
    if (agent === undefined) throw new TypeError(`a2a.agents: the host has no agent "${key}".`);
    return [key, { name: agent.name, ...(options === true ? {} : options) }] as const;
  });
  const face = new A2aFace({
    ...rest,
    agents: new Map(shown),
    version: VERSION,
    ...defined({ auth: credentials, taskTtlMs, cancelWaitMs }),
  });
  const authorise = typeof auth === "function" ? auth : auth && authoriserOf(auth);
  const challenge = credentials?.mode === "api_key" ? `ApiKey header="${keyHeader(credentials)}"` : "Bearer";
  return {
    face,
    challenge,
    ...defined({ authorise, publicUrl: publicUrl?.replace(/\/+$/, "") }),
  };
}

/** Who shows one of the credentials is its caller. All are compared, each in constant time. */
function authoriserOf(auth: A2aInboundAuth): Authorise {
  const known = Object.entries(auth.mode === "bearer" ? auth.tokens : auth.keys).map(([tenant, secret]) => {
    if (secret === "") throw new TypeError(`a2a.auth: the credential of "${tenant}" is empty.`);
    return { tenant, digest: digestOf(secret) };
  });
  const header = keyHeader(auth);
  return (request) => {
    const given = request.headers.get(header) ?? "";
    const shown = auth.mode === "bearer" ? (/^Bearer +(\S+) *$/i.exec(given)?.[1] ?? "") : given;
    const digest = digestOf(shown);
    let caller: { readonly tenant: string } | undefined;
    for (const { tenant, digest: other } of known) if (timingSafeEqual(digest, other)) caller ??= { tenant };
    return caller;
  };
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
