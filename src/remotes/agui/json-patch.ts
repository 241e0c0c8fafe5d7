import { isJson, type Json, textIn } from "./json.js";

/** Operations of one patch. */
const MAX_OPERATIONS = 1_000;
/** Characters of JSON that a document may grow to: `copy` can double it with each operation. */
const MAX_SIZE = 4_194_304;

/** Characters that the `test` operations of one patch may compare; each could ask for the whole document. */
const MAX_TESTED = 2 * MAX_SIZE;

/** A JSON document that is kept up to date by patches (RFC 6902). */
export class PatchedDocument {
  #value: unknown;
  #size: number;
  #tested = 0;

  /** @param value is the document's own from now on */
  constructor(value: unknown) {
    this.#value = value;
    this.#size = sizeOf(value);
  }

  get value(): unknown {
    return this.#value;
  }

  /** Applies a patch. @returns `false` when it could not be: the document is of no use any more. */
  apply(patch: unknown): boolean {
    if (!Array.isArray(patch) || patch.length > MAX_OPERATIONS) return false;
    this.#tested = 0;
    return patch.every((operation) => isJson(operation) && this.#operation(operation));
  }

  #operation(operation: Json): boolean {
    const path = pointer(textIn(operation, "path"));
    if (path === undefined) return false;
    switch (operation.op) {
      case "add":
        return Object.hasOwn(operation, "value") && this.#add(path, operation.value);
      case "replace":
        return this.#get(path) !== undefined && this.#add(path, operation.value, true);
      case "remove":
        return this.#remove(path);
      case "test":
        return this.#test(this.#get(path), operation.value);
      case "copy":
      case "move": {
        const from = pointer(textIn(operation, "from"));
        if (from === undefined) return false;
        const value = this.#get(from);
        if (value === undefined) return false;
        if (operation.op === "move") return this.#remove(from) && this.#add(path, value);
        if (this.#size + sizeOf(value) > MAX_SIZE) return false;
        return this.#add(path, structuredClone(value));
      }
      default:
        return false;
    }
  }

  #test(actual: unknown, expected: unknown): boolean {
    const text = JSON.stringify(actual);
    this.#tested += text?.length ?? 0;
    return this.#tested <= MAX_TESTED && text === JSON.stringify(expected);
  }

  #get(path: readonly string[]): unknown {
    let value: unknown = this.#value;
    for (const key of path) {
      if (Array.isArray(value)) value = value[indexOf(key, value.length - 1) ?? -1];
      else value = isJson(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    }
    return value;
  }

  #add(path: readonly string[], value: unknown, replace = false): boolean {
    this.#size += sizeOf(value);
    if (this.#size > MAX_SIZE) return false;
    const key = path.at(-1);
    if (key === undefined) {
      this.#value = value;
      this.#size = sizeOf(value);
      return true;
    }
    const parent = this.#get(path.slice(0, -1));
    if (Array.isArray(parent)) {
      const index = key === "-" && !replace ? parent.length : indexOf(key, parent.length);
      if (index === undefined) return false;
      parent.splice(index, replace ? 1 : 0, value);
      return true;
    }
    if (!isJson(parent) || key === "__proto__") return false;
    Object.assign(parent, { [key]: value });
    return true;
  }

  #remove(path: readonly string[]): boolean {
    const key = path.at(-1);
    if (key === undefined) return false;
    const parent = this.#get(path.slice(0, -1));
    if (Array.isArray(parent)) {
      const index = indexOf(key, parent.length - 1);
      if (index === undefined) return false;
      parent.splice(index, 1);
      return true;
    }
    return isJson(parent) && Object.hasOwn(parent, key) && Reflect.deleteProperty(parent, key);
  }
}

/** RFC 6901. */
function pointer(text: string | undefined): string[] | undefined {
  if (text === "") return [];
  if (!text?.startsWith("/")) return undefined;
  return text
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function indexOf(key: string, last: number): number | undefined {
  return /^(?:0|[1-9]\d{0,8})$/.test(key) && Number(key) <= last ? Number(key) : undefined;
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
