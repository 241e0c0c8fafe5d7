import { TroupeError } from "../core/errors.js";
import type { ArtifactLinks } from "./artifact-links.js";
import type { ArtifactStore } from "./artifacts.js";
import type { DelegationErrorCode } from "./events.js";
import type { RemoteInputArtifact } from "./remote.js";
import type { DelegationRequest } from "./request.js";

/** A file that goes along with a task, and where it is from. */
export interface InputArtifact {
  readonly artifact: RemoteInputArtifact;
  readonly uri: string;
  readonly sha256: string;
}

/** Where input artifacts come from. */
export interface InputSource {
  readonly artifacts: ArtifactStore;
  /** Whether a delegation's files may be used. */
  readonly isOwn: (delegationId: string) => boolean;
  /** Makes links instead of sending bytes. */
  readonly links?: ArtifactLinks;
}

/**
 * Finds the files that a request names by `host://` references.
 * @param reader the delegation that gets them
 * @throws TroupeError `invalid_input` for a reference to nothing, or to what is not the run's own.
 */
export async function inputArtifacts(
  { input }: DelegationRequest,
  { artifacts, isOwn, links }: InputSource,
  reader: string,
): Promise<InputArtifact[]> {
  const found = await Promise.all(
    (input?.artifacts ?? []).map(async ({ name, uri, mime_type }) => {
      const [, delegationId = "", wanted = ""] =
        /^host:\/\/delegations\/([^/]+)\/artifacts\/([^/]+)$/.exec(uri) ?? [];
      const stored = isOwn(delegationId) ? await artifacts.get(delegationId, decodeName(wanted)) : undefined;
      if (stored === undefined) {
        const text = `input.artifacts: there is no ${uri} in this run.`;
        throw new TroupeError<DelegationErrorCode>("invalid_input", text);
      }
      return {
        name: { name, mimeType: mime_type ?? stored.description.mimeType },
        uri,
        delegationId,
        stored,
      };
    }),
  );
  // Not before all are found: a link for a delegation that never begins would never be revoked.
  return found.map(({ name, uri, delegationId, stored: { description, bytes } }) => {
    const { id: artifactId, sha256 } = description;
    const content =
      links === undefined ? { bytes } : { url: links.issue(reader, { delegationId, artifactId }) };
    return { artifact: { ...name, ...content }, uri, sha256 };
  });
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
