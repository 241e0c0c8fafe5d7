import type { StoredArtifact } from "../../delegation/artifacts.js";
import type { HostContext } from "./environment.js";

/** The bytes of a file, so that no browser takes them for a part of this site. */
export function artifactResponse(context: HostContext, { description, bytes }: StoredArtifact): Response {
  const { name, mimeType, sha256 } = description;
  return context.body(Uint8Array.from(bytes), 200, {
    "content-type": mimeType,
    // RFC 6266; the plain form is for clients that know no other.
    "content-disposition": `attachment; filename="${name.replace(/[^\w.-]/g, "_")}"; filename*=UTF-8''${encodeURIComponent(name).replace(/'/g, "%27")}`,
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    etag: `"${sha256}"`,
  });
}
