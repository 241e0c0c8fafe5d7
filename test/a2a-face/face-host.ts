import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AgentCard,
  type Message,
  type Part,
  Role,
  type SendMessageRequest,
  type StreamResponse,
} from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { createAgent } from "../../src/core/agent.js";
import { claude } from "../../src/drivers/claude/claude.js";
import type { A2aHostOptions } from "../../src/host/a2a-host.js";
import { createHost, type Host, type HostOptions } from "../../src/host/host.js";
import type { Script } from "../../src/testing/claude/script.js";
import { scriptedClaude, scriptedClaudeEnvironment } from "../../src/testing/claude/start.js";

/** A host that shows a scripted Claude Code, a real process, to A2A clients. */
export interface FaceHost extends AsyncDisposable {
  readonly host: Host;
  readonly url: string;
  /** Address of the agent `claude`. */
  readonly agent: string;
  readonly cardUrl: string;
}

/** Starts a {@link FaceHost}; close it with `await using`. */
export async function startFaceHost(
  script: Script,
  options: {
    readonly a2a?: Partial<A2aHostOptions>;
    readonly host?: Partial<HostOptions>;
    readonly paceMs?: number;
  } = {},
): Promise<FaceHost> {
  const workspace = await mkdtemp(join(tmpdir(), "troupe-face-"));
  const agent = createAgent(claude({ executable: scriptedClaude(), graceMs: 2_000 }), {
    workspace,
    env: scriptedClaudeEnvironment({
      script,
      ...(options.paceMs === undefined ? {} : { paceMs: options.paceMs }),
    }),
  });
  const host = await createHost({
    agents: { claude: agent },
    a2a: { agents: { claude: { description: "Reviews code" } }, ...options.a2a },
    ...options.host,
  });
  const { url } = await host.listen({ port: 0 });
  return {
    host,
    url,
    agent: `${url}/a2a/claude`,
    cardUrl: `${url}/a2a/claude/.well-known/agent-card.json`,
    async [Symbol.asyncDispose]() {
      await host.close();
      await rm(workspace, { recursive: true, force: true });
    },
  };
}

/** The SDK's own client of 1.0, as the card makes it. */
export async function clientOf(
  face: FaceHost,
  transport: "JSONRPC" | "HTTP+JSON" = "JSONRPC",
  headers: Record<string, string> = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const merged = new Headers(init?.headers);
    for (const [name, value] of Object.entries(headers)) merged.set(name, value);
    return fetch(input, { ...init, headers: merged });
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [transport],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  const card = AgentCard.fromJSON(await (await fetch(face.cardUrl)).json());
  return factory.createFromAgentCard(card);
}

let messages = 0;

/** A message of the user. */
export function message(content: string | Part[], more: Partial<Message> = {}): Message {
  const parts =
    typeof content === "string"
      ? [
          {
            content: { $case: "text" as const, value: content },
            metadata: undefined,
            filename: "",
            mediaType: "",
          },
        ]
      : content;
  return {
    messageId: `message-${++messages}`,
    contextId: "",
    taskId: "",
    role: Role.ROLE_USER,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  };
}

/** A request that sends it. */
export function sending(
  content: string | Part[] | Message,
  configuration: Partial<SendMessageRequest["configuration"] & object> = {},
): SendMessageRequest {
  return {
    tenant: "",
    message: typeof content === "string" || Array.isArray(content) ? message(content) : content,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  };
}

/** All events of a stream, up to the first for which `enough` holds. */
export async function all(
  stream: AsyncGenerator<StreamResponse, void, undefined>,
  enough: (event: StreamResponse) => boolean = () => false,
): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) {
    events.push(event);
    if (enough(event)) break;
  }
  return events;
}

/** What an artifact or a message says. */
export function textOf(parts: readonly Part[] = []): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}

/** What the agent says in a stream. */
export function saidIn(events: readonly StreamResponse[]): string {
  return events
    .map(({ payload }) =>
      payload?.$case === "artifactUpdate" && payload.value.artifact?.name === "assistant-output"
        ? textOf(payload.value.artifact.parts)
        : "",
    )
    .join("");
}

/** A JSON-RPC call without any client. */
export function rpc(
  face: FaceHost,
  method: string,
  params: unknown,
  headers: Record<string, string> = { "a2a-version": "1.0" },
): Promise<Response> {
  return fetch(face.agent, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}
