import { headingAnchor } from "../../docs/.vitepress/places.js";
import { code, table } from "./markdown.js";
import type { Member, TypeReader } from "./type-reader.js";

/** Words types as tables; collects the types that fields name. */
export class TypePage {
  readonly #named = new Set<string>();

  constructor(private readonly types: TypeReader) {}

  fields(members: readonly Member[]): string {
    const rows = members.map(({ name, optional, type, meaning }) => [
      code(`${name}${optional ? "?" : ""}`),
      this.type(type),
      meaning,
    ]);
    return table(["Field", "Type", "Meaning"], rows);
  }

  /** A type, with a link to what it names. */
  type(type: string): string {
    const named = [...new Set(type.match(/\b[A-Z]\w+/g) ?? [])].filter((name) => this.types.has(name));
    for (const name of named) this.#named.add(name);
    const links = named.map((name) => `[${name}](#${headingAnchor(name)})`);
    if (links.length === 1 && named[0] === type) return links.join();
    return [code(type), ...links].join(" ");
  }

  /** What fields name, and what that names in turn. */
  *declarations(): Generator<string> {
    for (const name of this.#named) {
      const { meaning, shapes, text } = this.types.read(name);
      yield `### ${name}`;
      if (meaning !== "") yield meaning;
      if (shapes.length === 0) yield this.type(text);
      for (const { members } of shapes) yield this.fields(members);
    }
  }
}
