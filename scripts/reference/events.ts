import { encodeCustom } from "../../src/bridges/agui/custom-encoder.js";
import type { AguiEvent } from "../../src/bridges/agui/event.js";
import { encodeNative } from "../../src/bridges/agui/native-encoder.js";
import { encodeParent } from "../../src/bridges/agui/parent-encoder.js";
import type { RunEvent } from "../../src/core/run-event.js";
import type { SubagentEvent } from "../../src/delegation/events.js";
import { code } from "./markdown.js";
import { TypePage } from "./type-page.js";
import { type Declared, type Member, type Shape, TypeReader } from "./type-reader.js";

/** Where the types of what a journal holds are declared. */
const SOURCES = [
  "src/journal/journal.ts",
  "src/core/run-event.ts",
  "src/core/approval.ts",
  "src/delegation/events.ts",
];

const INTRODUCTION = `# Event reference

Every event of the journal and its fields, as the types have them. \`troupe run --json\`, \`troupe replay --json\` and the
library give these events; a browser gets each as one AG-UI frame. What the frames look like on the wire, with an example of
each, is in [HTTP routes and frames](../http.md#frames). This page is made from the types by \`npm run docs\`.

A field with \`?\` may be absent. New events and fields may come with any version: pass over what you do not know.`;

const CUSTOM = `An event whose frame is \`CUSTOM\` has its type as \`name\`; \`value\` has the same fields without \`type\`, if
nothing else is said.`;

const SUBAGENTS = `What a delegation appends. In the \`custom\` encoding each is a \`CUSTOM\` frame: \`name\` is the type, \`value\`
has the identity below and the event's own fields. The frame in the \`native\` encoding is named with each.`;

/** Words what a reader found. */
class EventPage {
  readonly #page: TypePage;

  constructor(private readonly types: TypeReader) {
    this.#page = new TypePage(types);
  }

  text(): string {
    const { types } = this;
    return [
      INTRODUCTION,
      "## Entries",
      types.read("JournalEntry").meaning,
      this.#page.fields(membersOf(types.read("JournalEntry"))),
      "## Events of a run",
      types.read("RunEvent").meaning,
      CUSTOM,
      ...types.read("RunEvent").shapes.flatMap((shape) => this.#event(shape, [runFrame(typeOf(shape))])),
      "## Events of subagents",
      SUBAGENTS,
      "### Identity",
      types.read("SubagentIdentity").meaning,
      this.#page.fields(membersOf(types.read("SubagentIdentity"))),
      ...types.read("SubagentChange").shapes.flatMap((shape) => this.#event(shape, subagentFrames(shape))),
      "## Gaps",
      ...this.#event(
        { meaning: types.read("GapEvent").meaning, members: membersOf(types.read("GapEvent")) },
        ["Frame: `CUSTOM`, without an `id`."],
      ),
      "## Types",
      ...this.#page.declarations(),
    ].join("\n\n");
  }

  #event(shape: Shape, frames: readonly string[]): string[] {
    const rest = shape.members.filter(({ name }) => name !== "type");
    return [
      `### ${code(typeOf(shape))}`,
      ...(shape.meaning === "" ? [] : [shape.meaning]),
      frames.join(" "),
      rest.length === 0 ? "It has no fields of its own." : this.#page.fields(rest),
    ];
  }
}

function membersOf({ name, shapes }: Declared): readonly Member[] {
  const [shape] = shapes;
  if (shape === undefined) throw new Error(`${name} has no members`);
  return shape.members;
}

/** The `type` of an event's shape. */
function typeOf({ members }: Shape): string {
  const type = members.find(({ name }) => name === "type")?.type ?? "";
  const [, name] = /^"([\w.]+)"$/.exec(type) ?? [];
  if (name === undefined) throw new Error(`There is an event without a type of its own: ${type}`);
  return name;
}

/** Says how the encoder shows an event of this type; it is asked with an event that has only what it looks into. */
function runFrame(type: string): string {
  const approval = {};
  const event = { type, approval, messages: [], error: {} } as unknown as RunEvent;
  const entry = { cursor: "1", thread: "", runId: "", time: 0, event };
  const frame = encodeParent(entry, event, { threadId: "", cancelledOutcome: false });
  if (frame === undefined) return "It has no frame.";
  const whole = frame.value === approval ? "; `value` is what `approval` has here" : "";
  return `Frame: ${frameName(frame)}${whole}.`;
}

function subagentFrames(shape: Shape): string[] {
  const hidden = shape.members.filter(({ name }) => !(name in shown(shape))).map(({ name }) => code(name));
  return [
    ...(hidden.length === 0 ? [] : [`${hidden.join(", ")} is in the journal only.`]),
    `Native: ${frameName(encodeNative(sample(shape)))}.`,
  ];
}

/** The fields that reach a frame, and the type. */
function shown(shape: Shape): object {
  const event = sample(shape);
  return { type: event.type, ...(encodeCustom(event).value as object) };
}

function sample(shape: Shape): SubagentEvent {
  const fields = Object.fromEntries(shape.members.map(({ name }) => [name, {}]));
  return { ...fields, type: typeOf(shape) } as unknown as SubagentEvent;
}

function frameName({ type, outcome }: AguiEvent): string {
  const { type: end } = (outcome ?? {}) as { readonly type?: string };
  return end === undefined ? code(type) : `${code(type)} with the outcome ${code(end)}`;
}

/** The page with every event of the journal. */
export function eventsReference(): string {
  using types = new TypeReader(SOURCES);
  return `${new EventPage(types).text()}\n`;
}
