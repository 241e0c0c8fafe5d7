import { type Runtime, Session } from "node:inspector";

/** Node's types do not know of private fields. */
type Properties = Runtime.GetPropertiesReturnType & {
  readonly privateProperties?: readonly { readonly name: string; readonly value?: Runtime.RemoteObject }[];
};

/** Scopes that are everybody's: those of modules have no name of a function. */
const SHARED = /^(?:Global|Script|Module|Closure$)/;

/**
 * Every string that can be reached from `root`: through properties, private fields, entries of maps and sets, and the variables
 * that closures keep of named functions. Bytes are not looked at. For tests that look for a secret.
 * @param limit objects that are visited at most; beyond it the test would say nothing, so it throws.
 */
export function stringsReachableFrom(root: object, limit = 50_000): Set<string> {
  const session = new Session();
  session.connect();
  const send = <T>(method: string, parameters: object): T => {
    let answer: T | undefined;
    let failure: Error | null = null;
    session.post(method, parameters, (error, result) => {
      failure = error;
      answer = result as T;
    });
    if (answer === undefined) throw failure ?? new Error(`${method} did not answer`);
    return answer;
  };
  const holder = globalThis as { __objectGraph?: unknown };
  const strings = new Set<string>();
  const seen = new Set<object>();
  // Ids of the inspector are new for each mention, so identity is compared here.
  Object.defineProperty(holder, "__objectGraph", {
    configurable: true,
    value: (object: object) => {
      if (seen.has(object)) return false;
      seen.add(object);
      return true;
    },
  });
  try {
    const check = send<{ result: Runtime.RemoteObject }>("Runtime.evaluate", {
      expression: "globalThis.__objectGraph",
    }).result.objectId;
    Object.defineProperty(holder, "__objectGraphRoot", { configurable: true, value: root });
    const first = send<{ result: Runtime.RemoteObject }>("Runtime.evaluate", {
      expression: "globalThis.__objectGraphRoot",
    }).result;
    const queue: Runtime.RemoteObject[] = [first];
    for (let value = queue.shift(); value !== undefined; value = queue.shift()) {
      if (value.type === "string") strings.add(String(value.value));
      const { objectId } = value;
      if (objectId === undefined || value.type === "symbol" || SHARED.test(value.description ?? "")) continue;
      if (/^(?:typedarray|arraybuffer|dataview)$/.test(value.subtype ?? "")) continue;
      const isNew = send<{ result: Runtime.RemoteObject }>("Runtime.callFunctionOn", {
        objectId,
        functionDeclaration: "function (check) { return check(this); }",
        arguments: [{ objectId: check }],
        returnByValue: true,
      }).result.value;
      if (isNew !== true) continue;
      if (seen.size > limit) throw new Error("The object graph is too large to be searched.");
      const properties = send<Properties>("Runtime.getProperties", { objectId, ownProperties: true });
      for (const property of properties.result) {
        strings.add(property.name);
        if (property.value !== undefined) queue.push(property.value);
      }
      const hidden = [...(properties.internalProperties ?? []), ...(properties.privateProperties ?? [])];
      for (const { name, value: inner } of hidden)
        if (inner !== undefined && name !== "[[Prototype]]") queue.push(inner);
    }
    return strings;
  } finally {
    session.disconnect();
    Reflect.deleteProperty(holder, "__objectGraph");
    Reflect.deleteProperty(holder, "__objectGraphRoot");
  }
}
