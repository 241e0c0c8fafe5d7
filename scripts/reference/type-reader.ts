import { resolve } from "node:path";
import type { Node, SourceFile, TypeNode } from "typescript/unstable/ast";
import {
  isInterfaceDeclaration,
  isIntersectionTypeNode,
  isParenthesizedTypeNode,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  isTypeReferenceNode,
  isUnionTypeNode,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";

/** A member of an object type. */
export interface Member {
  readonly name: string;
  readonly optional: boolean;
  /** As it stands in the source, in one line. */
  readonly type: string;
  readonly meaning: string;
}

/** One object type of a union, or an interface. */
export interface Shape {
  readonly meaning: string;
  readonly members: readonly Member[];
}

/** A declared type. */
export interface Declared {
  readonly name: string;
  readonly meaning: string;
  /** The shapes of a union of objects, the one shape of an interface; empty for any other type. */
  readonly shapes: readonly Shape[];
  /** What it is, when it has no shapes. */
  readonly text: string;
}

/** Reads types and their comments from source files. */
export class TypeReader implements Disposable {
  readonly #api = new API({ cwd: process.cwd() });
  readonly #declarations = new Map<string, Node & { readonly file: SourceFile }>();

  /** @param files - Paths of the sources; of types with one name the first counts. */
  constructor(files: readonly string[]) {
    const config = resolve("tsconfig.build.json");
    const project = this.#api.updateSnapshot({ openProjects: [config] }).getProject(config);
    for (const path of files) {
      const file = project?.program.getSourceFile(resolve(path));
      if (file === undefined) throw new Error(`${path} is not part of the build`);
      for (const statement of file.statements)
        if (isInterfaceDeclaration(statement) || isTypeAliasDeclaration(statement)) {
          const { text } = statement.name;
          if (!this.#declarations.has(text)) this.#declarations.set(text, Object.assign(statement, { file }));
        }
    }
  }

  /** Whether there is a type of that name. */
  has(name: string): boolean {
    return this.#declarations.has(name);
  }

  /** @throws Error when there is no type of that name. */
  read(name: string): Declared {
    const node = this.#declarations.get(name);
    if (node === undefined) throw new Error(`There is no type ${name}`);
    const meaning = commentOf(node);
    if (isInterfaceDeclaration(node)) {
      const inherited = (node.heritageClauses ?? []).flatMap((clause) =>
        clause.types.flatMap(({ expression }) => this.#shapesOf(expression.getText())),
      );
      const members = [...inherited.flatMap((one) => one.members), ...membersOf(node.members)];
      // One that narrows an inherited member stands for it.
      const last = new Map(members.map((member) => [member.name, member]));
      const all = [...last.values()];
      // What is said of an interface with one member is said of that.
      const told = all.map((one) => (all.length === 1 && one.meaning === "" ? { ...one, meaning } : one));
      return { name, meaning, shapes: [{ meaning: "", members: told }], text: "" };
    }
    if (!isTypeAliasDeclaration(node)) throw new Error(`${name} is not a type`);
    return { name, meaning, shapes: this.#shapes(node.type), text: oneLine(node.type) };
  }

  #shapesOf(name: string): readonly Shape[] {
    return this.has(name) ? this.read(name).shapes : [];
  }

  #shapes(type: TypeNode): readonly Shape[] {
    if (isParenthesizedTypeNode(type)) return this.#shapes(type.type);
    if (isTypeLiteralNode(type)) return [{ meaning: commentBefore(type), members: membersOf(type.members) }];
    if (isTypeReferenceNode(type)) return this.#shapesOf(type.typeName.getText());
    if (isUnionTypeNode(type)) return type.types.flatMap((one) => this.#shapes(one));
    if (!isIntersectionTypeNode(type)) return [];
    // Each shape of one side with each of the other.
    return type.types
      .map((one) => this.#shapes(one))
      .reduce((left, right) =>
        left.flatMap((one) =>
          right.map((other) => ({
            meaning: one.meaning,
            members: [...one.members, ...other.members],
          })),
        ),
      );
  }

  [Symbol.dispose](): void {
    this.#api.close();
  }
}

function membersOf(nodes: readonly Node[]): Member[] {
  return nodes.flatMap((node) =>
    isPropertySignatureDeclaration(node)
      ? [
          {
            name: node.name.getText(),
            optional: node.postfixToken !== undefined,
            type: node.type === undefined ? "unknown" : oneLine(node.type),
            meaning: commentOf(node),
          },
        ]
      : [],
  );
}

/** A type without what only the compiler needs. */
function oneLine(type: TypeNode): string {
  return type
    .getText()
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\s+/g, " ")
    .replace(/\breadonly /g, "")
    .replace(/^\| /, "");
}

/** The text of a node's comment; its tags are for those who read the source. */
function commentOf({ jsDoc }: Node): string {
  return commentText(jsDoc?.at(-1)?.getText() ?? "");
}

/** The comment that stands before the `|` of a union's member, which belongs to no node. */
function commentBefore(node: Node): string {
  const before = node.getSourceFile().text.slice(0, node.getStart());
  return commentText(/\/\*\*(?:(?!\*\/)[\s\S])*\*\/(?=\s*\|?\s*\(?\s*$)/.exec(before)?.[0] ?? "");
}

function commentText(comment: string): string {
  return comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^\s*\* ?/gm, "")
    .replace(/^\s*@[\s\S]*/m, "")
    .replace(/\{@link (\w+)\}/g, "`$1`")
    .replace(/\s+/g, " ")
    .trim();
}
