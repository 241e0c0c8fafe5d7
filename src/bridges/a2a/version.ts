import { VersionNotSupportedError } from "@a2a-js/sdk/errors";

/** The versions that are spoken. */
export type FaceVersion = "0.3" | "1.0";

/**
 * The version of a request (A2A 1.0, 3.6): the header `A2A-Version`, else the query parameter of that name, else 0.3. The patch
 * number says nothing.
 * @throws A2AError for a version that is not spoken.
 */
export function versionOf(headers: Headers, query: URLSearchParams): FaceVersion {
  const parameter = [...query].find(([name]) => name.toLowerCase() === "a2a-version")?.[1];
  const given = (headers.get("a2a-version") ?? parameter ?? "").trim();
  const [, version] = /^(\d+\.\d+)(?:\.\d+)?$/.exec(given) ?? [];
  if (given === "" || version === "0.3") return "0.3";
  if (version === "1.0") return "1.0";
  throw new VersionNotSupportedError("This agent speaks the A2A versions 1.0 and 0.3.");
}
