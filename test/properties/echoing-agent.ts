import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Where an {@link EchoingAgent} puts what it was sent. */
export type Place = (typeof PLACES)[number];

export const PLACES = [
  "card",
  "status",
  "failed",
  "rejected",
  "canceled",
  "closing",
  "long closing",
  "question",
  "sign-in",
  "artifact name",
  "artifact id",
  "file name",
  "media type",
  "task id",
  "tool name",
  "tool arguments",
  "tool result",
  "thought",
  "text",
  "text in pieces",
  "file",
  "file in pieces",
  "message id",
  "rpc error",
  "error data",
  "http body",
  "http status",
  "unauthorised",
  "redirect",
  "broken json",
  "broken event",
  "unknown state",
] as const;

interface Rpc {
  readonly id: unknown;
  readonly method: string;
  readonly params?: { readonly id?: string };
}

/** A2A 1.0 by hand: it says back what it was sent as a credential, at a chosen place. */
export interface EchoingAgent extends AsyncDisposable {
  readonly cardUrl: string;
  place: Place;
  /** Makes what is said of the credential as it came. */
  form: (credential: string) => string;
  /** Calls that brought a credential. */
  calls: number;
}

/** @param header the header that brings the credential; what stands behind its last space is it. */
export async function startEchoingAgent(header: string): Promise<EchoingAgent> {
  const agent: EchoingAgent = {
    cardUrl: "",
    place: "status",
    form: (credential) => credential,
    calls: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  const credentialOf = ({ headers }: IncomingMessage): string | undefined => {
    const value = String(headers[header] ?? "");
    return value === "" ? undefined : agent.form(value.replace(/^Bearer /, ""));
  };
  const server = createServer(async (request, response) => {
    const said = credentialOf(request);
    if (request.method === "GET") {
      // A card that tells needs the credential first.
      if (said === undefined && agent.place === "card") response.writeHead(401).end();
      else json(response, cardOf(port, said ?? "none", agent.place === "card"));
      return;
    }
    let body = "";
    for await (const bytes of request) body += bytes;
    agent.calls += said === undefined ? 0 : 1;
    answer(response, JSON.parse(body), agent.place, said ?? "");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return Object.assign(agent, { cardUrl: `http://127.0.0.1:${port}/.well-known/agent-card.json` });
}

function cardOf(port: number, said: string, tells: boolean): object {
  const words = (text: string) => (tells ? `${text} ${said}` : text);
  return {
    name: words("Echo"),
    description: words(`${"x".repeat(3_990)}`),
    capabilities: { streaming: true },
    supportedInterfaces: [
      { url: `http://127.0.0.1:${port}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
    skills: [
      {
        id: "plain",
        name: words("Plain"),
        description: words("Plain."),
        inputSchema: { title: words("In") },
      },
      ...(tells ? [{ id: said, name: said, description: said }] : []),
    ],
  };
}

function answer(response: ServerResponse, rpc: Rpc, place: Place, said: string): void {
  const { id } = rpc;
  const taskId = place === "task id" ? `task ${said}` : "t-1";
  const contextId = place === "task id" ? `context ${said}` : "c-1";
  const ids = { taskId, contextId };
  const task = (state: string) => ({ id: taskId, contextId, status: { state } });
  if (/cancel/i.test(rpc.method)) return json(response, { id, result: task("TASK_STATE_CANCELED") });
  if (!/send/i.test(rpc.method)) return json(response, { id, result: task("TASK_STATE_COMPLETED") });
  const message = (text: string, messageId = "m") => ({ messageId, role: "ROLE_AGENT", parts: [{ text }] });
  const status = (state: string, text?: string) => ({
    statusUpdate: { ...ids, status: { state, ...(text === undefined ? {} : { message: message(text) }) } },
  });
  const artifact = (artifactId: string, name: string, part: object) => ({
    artifactUpdate: { ...ids, artifact: { artifactId, name, parts: [part] }, lastChunk: true },
  });
  const stream = (...results: unknown[]) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const result of [{ task: task("TASK_STATE_WORKING") }, ...results])
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
    response.end();
  };
  /** A few characters each. */
  const pieces = (text: string, partOf: (text: string) => object, artifactId: string) =>
    (text.match(/[\s\S]{1,7}/g) ?? []).map((piece, index, all) => ({
      artifactUpdate: {
        ...ids,
        artifact: { artifactId, name: "", parts: [partOf(piece)] },
        append: index > 0,
        lastChunk: index === all.length - 1,
      },
    }));
  const done = status("TASK_STATE_COMPLETED");
  switch (place) {
    case "status":
      return stream(status("TASK_STATE_WORKING", `I got ${said}.`), done);
    case "failed":
      return stream(status("TASK_STATE_FAILED", `Not allowed with ${said}.`));
    case "rejected":
      return stream(status("TASK_STATE_REJECTED", said));
    case "canceled":
      return stream(status("TASK_STATE_CANCELED", said));
    case "closing":
      return stream(status("TASK_STATE_COMPLETED", `Done with ${said}`));
    case "long closing":
      return stream(status("TASK_STATE_COMPLETED", "x".repeat(31_990) + said));
    case "question":
      return stream(status("TASK_STATE_INPUT_REQUIRED", `Is it ${said}?`));
    case "sign-in":
      return stream(status("TASK_STATE_AUTH_REQUIRED", `Sign in with ${said}`), done);
    case "artifact name":
      return stream(
        artifact("a", `${said}.md`, { text: "x" }),
        artifact("b", said, { text: "x", mediaType: "a/b" }),
        done,
      );
    case "artifact id":
      return stream(artifact(said, "a.md", { text: "x" }), done);
    case "file name":
      return stream(artifact("a", "", { raw: "eA==", filename: `${said}.bin` }), done);
    case "media type":
      return stream(
        artifact("a", "a.md", { text: "x", mediaType: said }),
        artifact("b", "b.md", { text: "x", mediaType: `text/${said}` }),
        done,
      );
    case "tool name": {
      const data = { id: said, name: said, args: {} };
      return stream(artifact("a", "", { data, metadata: { adk_type: "function_call" } }), done);
    }
    case "tool arguments": {
      const data = { id: "t", name: "look", args: { key: said, long: "x".repeat(31_955) + said } };
      return stream(artifact("a", "", { data, metadata: { adk_type: "function_call" } }), done);
    }
    case "tool result": {
      const data = { id: "t", name: "look", response: { key: said, long: "x".repeat(31_955) + said } };
      return stream(artifact("a", "", { data, metadata: { adk_type: "function_response" } }), done);
    }
    case "thought":
      return stream(artifact("a", "", { text: `Hm, ${said}`, metadata: { adk_thought: true } }), done);
    case "text":
      return stream(artifact("assistant-output", "", { text: `It is ${said}, I think.` }), done);
    case "text in pieces":
      return stream(...pieces(`It is ${said}, I think.`, (text) => ({ text }), "assistant-output"), done);
    case "file":
      return stream(artifact("a", "a.bin", { raw: Buffer.from(`\u0000${said}`).toString("base64") }), done);
    case "file in pieces":
      return stream(
        ...pieces(
          `# ${said}`,
          (text) => ({ raw: Buffer.from(text).toString("base64"), filename: "a.md" }),
          "a",
        ),
        done,
      );
    case "message id":
      return stream(artifact(said, "", { text: "An answer." }), done);
    case "unknown state":
      return stream(status(`TASK_STATE_${said}`, said), done);
    case "rpc error":
      return json(response, { id, error: { code: -32603, message: `${"x".repeat(290)} ${said}` } });
    case "error data":
      return json(response, { id, error: { code: -32602, message: "no", data: [{ reason: said, said }] } });
    case "http body":
      return void response.writeHead(500, { "content-type": "text/plain" }).end(said);
    case "http status":
      return void response.writeHead(400, said.replaceAll(/[^\x20-\x7e]/g, "")).end(said);
    case "unauthorised":
      response.writeHead(401, {
        "www-authenticate": `Bearer realm="${said.replaceAll(/[^\x20-\x7e]/g, "")}"`,
      });
      return void response.end(said);
    case "redirect":
      response.writeHead(307, {
        location: `http://127.0.0.1:9/${encodeURIComponent(said)}?${encodeURI(said)}`,
      });
      return void response.end();
    case "broken json":
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(`{"${said}": ${said}`);
    case "broken event":
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.end(`data: {"${said}": ${said}\n\n`);
    case "task id":
    case "card":
      return stream(done);
  }
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify("id" in body ? { jsonrpc: "2.0", ...body } : body));
}
