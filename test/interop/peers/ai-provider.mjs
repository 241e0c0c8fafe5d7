// a2a-ai-provider: an A2A agent as a model of the AI SDK. Arguments: the card's address, the text. Prints one part a line.
import { a2a } from "a2a-ai-provider";
import { streamText } from "ai";

const [card, prompt, abortMs] = process.argv.slice(2);
const controller = new AbortController();
if (abortMs) setTimeout(() => controller.abort(), Number(abortMs));
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const { fullStream } = streamText({
  model: a2a(card),
  prompt,
  maxRetries: 0,
  abortSignal: controller.signal,
  onError: ({ error }) => print({ type: "error", text: String(error) }),
});
for await (const { type, text, delta, finishReason } of fullStream)
  print({ type, text: text ?? delta, finishReason });
process.exit(0);
