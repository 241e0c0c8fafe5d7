import { readSse } from "../dist/wire/sse-reader.js";
import { median, type Row, row, start } from "./measure.js";

let messages = 0;

/** Milliseconds that a task of so many words takes to be streamed, from the request to the end of the answer. */
async function stream(url: string, words: number): Promise<number> {
  const message = { messageId: `m-${++messages}`, role: "ROLE_USER", parts: [{ text: String(words) }] };
  const began = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message } }),
  });
  if (response.body === null || !response.ok) throw new Error(`status ${response.status}`);
  let heard = "";
  for await (const { data } of readSse(response.body, { maxEventBytes: 2 ** 26 })) {
    const { artifactUpdate } = JSON.parse(data).result;
    for (const { text } of artifactUpdate?.artifact.parts ?? []) heard += text ?? "";
  }
  const took = performance.now() - began;
  if (!heard.endsWith(`word ${words - 1} `)) throw new Error("The answer is not whole.");
  return took;
}

/** What a streamed word costs an agent that is shown over A2A, against the SDK's default server; and whether that grows. */
export async function faceRows(): Promise<Row[]> {
  const [face, sdk] = await Promise.all([start("./face-host.ts"), start("./sdk-server.ts")]);
  try {
    const times = {
      face: { short: [] as number[], long: [] as number[] },
      sdk: { short: [] as number[], long: [] as number[] },
    };
    for (const url of [face.url, sdk.url]) await stream(url, 100);
    for (let round = 0; round < 3; round++) {
      times.face.short.push(await stream(face.url, 1_000));
      times.sdk.short.push(await stream(sdk.url, 1_000));
      times.face.long.push(await stream(face.url, 4_000));
    }
    times.sdk.long.push(await stream(sdk.url, 4_000));
    const [short, long] = [median(times.face.short), median(times.face.long)];
    const against = "SDK default server";
    return [
      row("face-1000", "A2A stream of 1,000 words", "ms", short, median(times.sdk.short), against),
      row("face-4000", "A2A stream of 4,000 words", "ms", long, median(times.sdk.long), against),
      row("face-growth", "4,000 words, against four times 1,000", "ms", long, 4 * short, "linear growth"),
    ];
  } finally {
    for (const process of [face, sdk]) process.stop();
  }
}
