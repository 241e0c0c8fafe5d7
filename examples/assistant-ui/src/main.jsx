import { HttpAgent } from "@ag-ui/client";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePartPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { createRoot } from "react-dom/client";

// assistant-ui knows AG-UI's own subagent events, but its client sends no version of AG-UI: so they are asked for.
const agent = new HttpAgent({
  url: "/agents/claude/run?subagents=native",
  threadId: `thread-${Math.random().toString(36).slice(2)}`,
});

/** A call of a tool. `MessagePartPrimitive.Messages` is all that the subagents of the call need. */
function ToolCall({ toolName, result, isError, messages }) {
  return (
    <section className="call">
      <code>{toolName}</code>{" "}
      <span className="state">{result === undefined ? "running" : isError ? "failed" : "done"}</span>
      {messages !== undefined && (
        <div className="subagent">
          <MessagePartPrimitive.Messages components={{ Message }} />
        </div>
      )}
    </section>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Parts components={{ tools: { Fallback: ToolCall } }} />
    </MessagePrimitive.Root>
  );
}

function Page() {
  return (
    <AssistantRuntimeProvider runtime={useAgUiRuntime({ agent })}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ Message }} />
        <ComposerPrimitive.Root className="composer">
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.getElementById("root")).render(<Page />);
