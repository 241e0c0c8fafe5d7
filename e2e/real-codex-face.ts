import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { PermissionMode } from "../src/core/approval.js";
import type { CodexOptions } from "../src/drivers/codex/options.js";
import { type ResponsesServer, startResponsesServer } from "../src/testing/responses/responses-server.js";
import type { ResponsesScript } from "../src/testing/responses/script.js";
import { type RealCodex, realCodex } from "./real-codex.js";

/** What the calling host shows to the host of Codex. Nobody else may ever see it. */
export const FACE_TOKEN = "face-credential-that-stays-in-the-host";

/** Options of {@link startCodexFace}. */
export interface CodexFaceOptions {
  /** What Codex's model says. */
  readonly script: ResponsesScript;
  /** A model that the program knows changes which tools it offers. */
  readonly model?: string;
  readonly sandbox?: CodexOptions["sandbox"];
  readonly permissions?: PermissionMode;
}

/** The real Codex behind the A2A face of a host in another process, with a scripted model. */
export class CodexFace implements AsyncDisposable {
  constructor(
    readonly url: string,
    readonly api: ResponsesServer,
    readonly program: RealCodex,
    private readonly child: ChildProcess,
  ) {}

  /** Address of the agent. */
  get agent(): string {
    return `${this.url}/a2a/codex`;
  }

  get cardUrl(): string {
    return `${this.agent}/.well-known/agent-card.json`;
  }

  /** The tasks that the calling host has there. */
  async tasks(): Promise<readonly { readonly id: string; readonly status: { readonly state: string } }[]> {
    const response = await fetch(this.agent, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": "1.0",
        authorization: `Bearer ${FACE_TOKEN}`,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} }),
    });
    const { result } = (await response.json()) as { result: { tasks: [] } };
    return result.tasks;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null) {
      const gone = once(this.child, "exit");
      this.child.send("close");
      await gone;
    }
    await this.api.close();
    await this.program.close();
  }
}

/** Starts a {@link CodexFace}; close it with `await using`. */
export async function startCodexFace(options: CodexFaceOptions): Promise<CodexFace> {
  const { script, model, sandbox = "workspace-write", permissions = "ask" } = options;
  const api = await startResponsesServer({ script });
  const program = await realCodex({ baseUrl: api.url, ...(model === undefined ? {} : { model }) });
  const { PATH = "", HOME = "" } = program.env;
  const child = fork(fileURLToPath(new URL("./codex-face.js", import.meta.url)), [], {
    execArgv: [],
    env: { PATH, HOME },
  });
  await told(child);
  child.send({
    driver: { ...program.options, sandbox },
    env: program.env,
    workspace: program.workspace,
    token: FACE_TOKEN,
    permissions,
  });
  return new CodexFace(String((await told(child)).url), api, program, child);
}

/** What the process tells next. It may die before it does. */
async function told(child: ChildProcess): Promise<Readonly<Record<string, unknown>>> {
  const over = new AbortController();
  const { signal } = over;
  try {
    return await Promise.race([
      once(child, "message", { signal }).then(([message]) => message),
      once(child, "exit", { signal }).then(([code]) => {
        throw new Error(`The host of Codex ended with ${code}.`);
      }),
    ]);
  } finally {
    over.abort();
  }
}
