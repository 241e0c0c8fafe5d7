/** One thing that the scripted agent does. */
export type ScriptStep =
  | { readonly do: "status"; readonly text: string }
  /** `message`: the id of a message of its own; without one all text is one message. */
  | { readonly do: "say"; readonly text: string; readonly message?: string }
  | { readonly do: "artifact"; readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array }
  | { readonly do: "wait"; readonly milliseconds: number }
  | { readonly do: "input"; readonly text: string }
  | { readonly do: "auth"; readonly text: string }
  /** Works until it is cancelled; `stubborn` never confirms the cancel either. */
  | { readonly do: "hang"; readonly stubborn: boolean }
  /** Destroys the socket of the stream; the task goes on. */
  | { readonly do: "drop" }
  /** Ends the stream without a final state. */
  | { readonly do: "endstream" }
  | { readonly do: "end"; readonly state: "completed" | "failed" | "rejected"; readonly text: string }
  /** Answers with a message and no task at all. */
  | { readonly do: "message"; readonly text: string };

/** What the agent does for one message. */
export interface Script {
  readonly steps: readonly ScriptStep[];
  /** Sends a second final state on the same stream: at once, or after the others have had time to react. */
  readonly extraTerminal?: "duplicate" | "late";
}

const DIRECTIVE = /^\s*(?:[\w ]{1,40}:\s*)?#([a-z][a-z-]*)(?:\s+(.*?))?\s*$/;

/** Text whose characters take one to four bytes, with combining ones and a family of emoji. */
export const UNICODE_TEXT = "Grüße, 世界! e\u0301 👩‍👩‍👧 𝄞 עברית \u2028 end";

/** Reads the lines of `text` that start with `#word`; without any, makes a believable piece of research of it. */
export function parseScript(text: string): Script {
  const steps: ScriptStep[] = [];
  let extraTerminal: Script["extraTerminal"];
  let ended = false;
  const lines = text.split(/\r?\n/);
  for (const line of lines) {
    const [, name, argument = ""] = DIRECTIVE.exec(line) ?? [];
    switch (name) {
      case "say":
        steps.push({ do: "say", text: argument });
        break;
      case "status":
        steps.push({ do: "status", text: argument });
        break;
      case "chunks":
        for (let index = 1; index <= number(argument, 1); index++)
          steps.push({ do: "say", text: `piece ${index} ` });
        break;
      case "unicode":
        for (const character of UNICODE_TEXT) steps.push({ do: "say", text: character });
        break;
      case "delay":
        steps.push({ do: "wait", milliseconds: number(argument, 0) });
        break;
      case "artifact": {
        const [file = "result.bin", size = "1024"] = argument.split(/\s+/);
        steps.push({
          do: "artifact",
          name: file,
          mediaType: mediaTypeOf(file),
          bytes: pattern(number(size, 1024)),
        });
        break;
      }
      case "input":
        steps.push({ do: "input", text: argument || "Which one do you mean?" });
        break;
      case "auth":
        steps.push({ do: "auth", text: argument || "Please sign in at the provider." });
        break;
      case "hang":
      case "stubborn":
        steps.push({ do: "hang", stubborn: name === "stubborn" });
        break;
      case "drop":
      case "endstream":
        steps.push({ do: name });
        break;
      case "fail":
        steps.push({ do: "end", state: "failed", text: argument || "The sources could not be read." });
        ended = true;
        break;
      case "reject":
        steps.push({ do: "end", state: "rejected", text: argument || "This agent does not do that." });
        ended = true;
        break;
      case "message":
        return { steps: [{ do: "message", text: argument || "A short answer without a task." }] };
      case "duplicate-terminal":
        extraTerminal = "duplicate";
        break;
      case "late-terminal":
        extraTerminal = "late";
        break;
    }
  }
  if (steps.length === 0) steps.push(...research(topicOf(lines)));
  else if (!ended) steps.push({ do: "end", state: "completed", text: "Done." });
  return extraTerminal ? { steps, extraTerminal } : { steps };
}

/** A piece of work with a long way and a short answer: notes on the way, a file, and two sentences at the end. */
function research(topic: string): ScriptStep[] {
  const slug =
    topic
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .slice(0, 40)
      .replaceAll(/^-|-$/g, "") || "research";
  const source = (number: number, kind: string, finding: string) =>
    `\n\n**Source ${number}, ${kind}.** ${finding}`;
  const search = `Looking for what is known about **${topic}**. Nine results, of which three are worth reading: `;
  const reading = [
    "a primary source, a measurement and an older report.",
    source(
      1,
      "primary",
      "Describes the approach and says where it ends: it works as long as the boundary between the two sides stays small, and as long as whoever watches can see both sides of it. It names no numbers.",
    ),
    source(
      2,
      "measurement",
      "Twelve runs on one machine, with and without. The difference is eleven percent in the median and less than three in the tail. The set-up is described well enough to repeat it, and the raw numbers are there.",
    ),
    source(
      3,
      "older report",
      "Disagrees about the cost. Its numbers are from before the last release, and two of its five cases no longer exist. Where it can still be compared, it says the same as the measurement.",
    ),
    "\n\nWriting it down.",
  ];
  const answer = `${topic}: worth doing, with a limit on what is handed back. One measurement found eleven percent; the only source that disagrees is out of date.`;
  return [
    { do: "status", text: "Searching sources" },
    ...words(search),
    { do: "status", text: "Reading three sources" },
    ...reading.flatMap((text) => words(text)),
    {
      do: "artifact",
      name: `${slug}-notes.md`,
      mediaType: "text/markdown",
      bytes: new TextEncoder().encode(`# Notes: ${topic}\n\n${search}${reading.join("")}\n`),
    },
    ...words(answer, "answer"),
    { do: "end", state: "completed", text: "Read three sources and wrote notes." },
  ];
}

/** Text as a model would stream it, a few words at a time. */
function words(text: string, message?: string): ScriptStep[] {
  return (text.match(/(?:\S+\s*|\s+\S+\s*){1,3}/g) ?? []).map((piece) => ({
    do: "say",
    text: piece,
    ...(message === undefined ? {} : { message }),
  }));
}

function topicOf(lines: readonly string[]): string {
  const line = lines
    .map((text) => text.replace(/^\s*(?:#+|[\w ]{1,40}:)\s*/, "").trim())
    .find((text) => text !== "");
  return (line ?? "the question")
    .replace(/[.?!]+$/, "")
    .slice(0, 60)
    .trim();
}

function number(text: string, fallback: number): number {
  const value = Number.parseInt(text, 10);
  return Number.isFinite(value) && value >= 0 ? value : fallback;
}

/** Bytes that are the same on every run and have no period that a lost chunk could hide in. */
function pattern(size: number): Uint8Array {
  return Uint8Array.from(
    { length: size },
    (_, index) => 32 + ((index * 7 + Math.floor(index / 95) * 13) % 95),
  );
}

function mediaTypeOf(name: string): string {
  if (name.endsWith(".md")) return "text/markdown";
  if (name.endsWith(".txt")) return "text/plain";
  if (name.endsWith(".json")) return "application/json";
  if (name.endsWith(".png")) return "image/png";
  return "application/octet-stream";
}
