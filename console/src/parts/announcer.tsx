import { useEffect, useRef, useState } from "react";
import { delegationsOf, isPending, runWord, subagentWord } from "../../../src/client/index.js";
import { useThreadVersion } from "../thread/thread-context.js";
import type { ThreadStore } from "../thread/thread-store.js";

/** Tells people who do not see the page what changed its state; never the words themselves as they stream in. */
export function Announcer({ store }: { store: ThreadStore }) {
  const version = useThreadVersion(store);
  const known = useRef(new Map<string, string>());
  const [text, setText] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version is what changes when the view does
  useEffect(() => {
    const news: string[] = [];
    for (const [key, sentence] of statesOf(store)) {
      if (known.current.get(key) === sentence) continue;
      known.current.set(key, sentence);
      news.push(sentence);
    }
    // A replay brings many at once; only a change that is happening is worth a word.
    if (news.length > 0 && store.connection.status !== "replaying") setText(news.slice(-3).join(". "));
  }, [version, store]);
  return (
    <p className="visually-hidden" role="status" aria-live="polite">
      {text}
    </p>
  );
}

function statesOf(store: ThreadStore): [string, string][] {
  const states: [string, string][] = [];
  const { status } = store.connection;
  if (status === "reconnecting") states.push(["connection", "Connection lost, reconnecting"]);
  if (status === "live") states.push(["connection", "Connected"]);
  const run = store.view.runs.at(-1);
  if (!run) return states;
  states.push([`run:${run.runId}`, `Run: ${runWord(run.status)}`]);
  for (const { delegationId, agentName, state } of delegationsOf(run)) {
    states.push([`delegation:${delegationId}`, `${agentName}: ${subagentWord(state)}`]);
  }
  for (const approval of run.approvals) {
    if (isPending(approval))
      states.push([
        `approval:${approval.request.approvalId}`,
        `The agent asks you: ${approval.request.title}`,
      ]);
  }
  return states;
}
