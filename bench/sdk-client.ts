import { Role } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } from "@a2a-js/sdk/client";

/** Sends a text to a remote with the A2A SDK's own client, and reads all that comes. @returns the texts of its artifacts */
export async function sdkClient(url: string): Promise<(text: string) => Promise<string>> {
  const card = await new DefaultAgentCardResolver().resolve(url);
  const client = await new ClientFactory(ClientFactoryOptions.default).createFromAgentCard(card);
  return async (text) => {
    const content = { $case: "text" as const, value: text };
    const message = {
      messageId: crypto.randomUUID(),
      role: Role.ROLE_USER,
      taskId: "",
      contextId: "",
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      parts: [{ content, metadata: undefined, filename: "", mediaType: "" }],
    };
    let answer = "";
    for await (const { payload } of client.sendMessageStream({
      message,
      tenant: "",
      configuration: undefined,
      metadata: undefined,
    })) {
      if (payload?.$case !== "artifactUpdate") continue;
      for (const { content } of payload.value.artifact?.parts ?? [])
        if (content?.$case === "text") answer += content.value;
    }
    return answer;
  };
}
