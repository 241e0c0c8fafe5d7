import { useEffect, useRef, useState } from "react";
import { JsonText } from "../parts/json-text.js";
import { useThread } from "../thread/thread-context.js";
import { explain, type RawEvents as Raw } from "../thread/thread-store.js";

/** The events themselves, one a line, read from the host when they are asked for. */
export function RawEvents({ delegationId, first }: { delegationId: string; first: string }) {
  const thread = useThread();
  const [raw, setRaw] = useState<Raw | "reading">();
  const [problem, setProblem] = useState<string>();
  const reading = useRef<AbortController>(undefined);
  useEffect(() => () => reading.current?.abort(), []);
  const read = () => {
    const controller = new AbortController();
    reading.current = controller;
    setRaw("reading");
    setProblem(undefined);
    thread.rawEvents(delegationId, first, controller.signal).then(
      (found) => {
        if (!controller.signal.aborted) setRaw(found);
      },
      (error: unknown) => {
        setRaw(undefined);
        setProblem(explain(error));
      },
    );
  };
  return (
    <>
      <button type="button" className="button small" disabled={raw === "reading"} onClick={read}>
        {raw === "reading" ? "Reading…" : raw ? "Read again" : "Read raw events"}
      </button>
      {problem !== undefined && <p className="failure">{problem}</p>}
      {raw !== undefined && raw !== "reading" && (
        <>
          <p className="muted small-text">
            {`${raw.frames.length} events`}
            {raw.left > 0 && `, ${raw.left} earlier ones left out`}
          </p>
          <JsonText text={raw.frames.map((frame) => JSON.stringify(frame)).join("\n")} />
        </>
      )}
    </>
  );
}
