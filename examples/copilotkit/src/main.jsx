import {
  CopilotChat,
  CopilotKitProvider,
  defineToolCallRenderer,
  useAgent,
  useCopilotKit,
} from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useEffect, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { argumentHint, createClient, isPending } from "troupe/client";
import { z } from "zod";
import "./page.css";
import { SubagentCard } from "./subagent-card.jsx";
import { createThreadStore } from "./thread-store.js";

// A thread is kept in the address: only with an id that stays the same does CopilotKit connect to it again after a reload.
const threadId = location.hash.slice(1) || `thread-${Math.random().toString(36).slice(2)}`;
history.replaceState(null, "", `#${threadId}`);

const { url: baseUrl } = await (await fetch("/host.json")).json();
const client = createClient({ baseUrl });
const store = createThreadStore();
const RECONNECT_MS = 1_000;
const useStore = () => useSyncExternalStore(store.subscribe, store.version);

/** A call of a tool, with the subagents that it asked. */
function ToolCall({ name, toolCallId }) {
  useStore();
  const call = store.call(toolCallId);
  return (
    <div className="call">
      <code>{name}</code> {call && argumentHint(call.arguments)}
      {call?.subagents.map((subagent) => (
        <SubagentCard key={subagent.delegationId} subagent={subagent} client={client} />
      ))}
    </div>
  );
}

const renderers = [
  defineToolCallRenderer({ name: "delegate_to_agent", args: z.any(), render: ToolCall }),
  defineToolCallRenderer({ name: "*", render: ToolCall }),
];

/** What Claude Code asks before it does something, and why it could not go on: CopilotKit's chat has no place for either. */
function Notices() {
  useStore();
  const { approvals = [], error } = store.lastRun() ?? {};
  return (
    <>
      {approvals.filter(isPending).map(({ request: { approvalId, title } }) => (
        <section className="question notice" key={approvalId}>
          <p>{title}</p>
          {["approve", "deny"].map((decision) => (
            <button
              type="button"
              key={decision}
              onClick={() => client.decideApproval(approvalId, { decision })}
            >
              {decision}
            </button>
          ))}
        </section>
      ))}
      {error && (
        <p className="notice" role="alert">
          {error.message}
        </p>
      )}
    </>
  );
}

function Page() {
  const { agent, isReady } = useAgent({ agentId: "claude" });
  const { copilotkit } = useCopilotKit();
  // Not in the cards: the first events of a subagent come before its card is there.
  useEffect(() => {
    const { unsubscribe } = agent.subscribe({
      onEvent: ({ event }) => (store.apply(event) ? { messages: [] } : undefined),
      // CopilotKit does not connect again by itself when the stream breaks off.
      onRunFinalized() {
        if (store.lastRun()?.status === "running")
          setTimeout(() => copilotkit.connectAgent({ agent }), RECONNECT_MS);
      },
    });
    return unsubscribe;
  }, [agent, copilotkit]);
  return (
    <main>
      <header>
        <strong>Claude Code</strong> with Codex as its sub-agent{" "}
        <a href={`${baseUrl}/#thread=${threadId}`}>The same in the host's console</a>
      </header>
      {/* Until the runtime has told of the agent, a message that is sent would go nowhere. */}
      <div className="chat">
        {isReady ? <CopilotChat agentId="claude" threadId={threadId} /> : <p>Connecting …</p>}
      </div>
      <Notices />
    </main>
  );
}

createRoot(document.getElementById("root")).render(
  <CopilotKitProvider runtimeUrl="/api/copilotkit" renderToolCalls={renderers} enableInspector={false}>
    <Page />
  </CopilotKitProvider>,
);
