import { useId, useState } from "react";
import { formatBytes, type SubagentView } from "../../../src/client/index.js";
import { useThread } from "../thread/thread-context.js";
import { Icon } from "./icon.js";

type Artifact = SubagentView["artifacts"][number];

/** What a remote agent made: its name, type and size, to download or to look into. */
export function Artifacts({ subagent }: { subagent: SubagentView }) {
  const [shown, setShown] = useState<string>();
  const id = useId();
  if (subagent.artifacts.length === 0) return null;
  const preview = subagent.artifacts.find((artifact) => artifact.id === shown)?.preview;
  return (
    <div className="artifacts">
      <ul aria-label="Artifacts">
        {subagent.artifacts.map((artifact) => (
          <li key={artifact.id}>
            <Chip
              artifact={artifact}
              delegationId={subagent.delegationId}
              controls={id}
              shown={shown === artifact.id}
              onShow={() => setShown(shown === artifact.id ? undefined : artifact.id)}
            />
          </li>
        ))}
      </ul>
      {preview !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
        <pre className="preview" id={id} tabIndex={0}>
          {preview}
        </pre>
      )}
    </div>
  );
}

interface ChipProps {
  readonly artifact: Artifact;
  readonly delegationId: string;
  readonly controls: string;
  readonly shown: boolean;
  readonly onShow: () => void;
}

function Chip({ artifact, delegationId, controls, shown, onShow }: ChipProps) {
  const thread = useThread();
  return (
    <span className="chip">
      <a
        href={thread.artifactUrl(delegationId, artifact.id)}
        download={artifact.name}
        title={`Download ${artifact.name}`}
      >
        <Icon name="file" />
        <span className="chip-name">{artifact.name}</span>
        <span className="chip-facts">{`${shortType(artifact)} · ${formatBytes(artifact.size)}`}</span>
      </a>
      {artifact.preview !== undefined && (
        <button
          type="button"
          aria-expanded={shown}
          aria-controls={controls}
          title={shown ? "Hide the beginning" : "Show the beginning"}
          onClick={onShow}
        >
          <Icon name="eye" />
          <span className="visually-hidden">{`Show the beginning of ${artifact.name}`}</span>
        </button>
      )}
    </span>
  );
}

function shortType({ mimeType }: Artifact): string {
  const [, subtype = mimeType] = mimeType.split("/");
  return subtype.replace(/^(x-|vnd\.)/, "").split(/[;+]/)[0] || mimeType;
}
