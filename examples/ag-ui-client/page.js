import { HttpAgent } from "@ag-ui/client";

const HOST = "/troupe";
const agent = new HttpAgent({ url: `${HOST}/agents/claude/run`, threadId: crypto.randomUUID() });
/** What AG-UI's events say of each subagent; its words are messages like all others, with its `subagentRunId`. */
const subagents = new Map();
const main = document.querySelector("main");
const form = document.querySelector("form");
const stop = document.querySelector("#stop");
let runId;

agent.subscribe({
  onEvent({ event }) {
    const subagent = subagents.get(event.subagentRunId);
    if (event.type === "RUN_STARTED") runId = event.runId;
    if (event.type === "SUBAGENT_STARTED" && subagent === undefined)
      subagents.set(event.subagentRunId, { ...event, state: "working", files: [] });
    if (subagent === undefined) return;
    if (event.type === "SUBAGENT_FINISHED")
      subagent.state = event.outcome?.type === "suspended" ? "goes on" : "done";
    if (event.type === "SUBAGENT_ERROR")
      subagent.state = event.code === "cancelled" ? "stopped" : event.message;
    if (event.type === "CUSTOM" && event.name === "subagent.status") subagent.status = event.value.message;
    if (event.type === "CUSTOM" && event.name === "subagent.artifact")
      subagent.files.push(event.value.artifact);
    render();
  },
  onMessagesChanged: render,
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const content = String(new FormData(form).get("text"));
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  stop.disabled = false;
  await agent.runAgent().catch((error) => main.append(element("p", error.message)));
  stop.disabled = true;
});

// `agent.abortRun()` would only close the stream. This ends the run, and the stream tells how the subagents ended.
stop.addEventListener("click", () =>
  fetch(`${HOST}/runs/${encodeURIComponent(runId)}/cancel`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ reason: "user" }),
  }),
);

function render() {
  main.replaceChildren(
    ...agent.messages.filter((message) => message.subagentRunId === undefined).map(messageElement),
  );
}

function messageElement(message) {
  const shown = element("div", "", message.role);
  if (message.role === "user" || message.role === "assistant")
    shown.append(element("p", message.content ?? ""));
  for (const { id, function: call } of message.toolCalls ?? []) {
    shown.append(element("code", call.name));
    for (const subagent of subagents.values())
      if (subagent.parentToolCallId === id) shown.append(card(subagent));
  }
  return shown;
}

function card({ subagentRunId, description, state, status, files }) {
  const shown = element("section", "", "subagent");
  shown.append(element("strong", `${description}: `), element("span", state, "state"));
  if (state === "working" && status !== undefined) shown.append(element("p", status));
  const own = agent.messages.filter((message) => message.subagentRunId === subagentRunId);
  for (const { role, content } of own)
    if (role === "assistant" && content) shown.append(element("p", content));
  for (const { id, name } of files) {
    const link = element("a", name);
    link.href = `${HOST}/delegations/${encodeURIComponent(subagentRunId)}/artifacts/${encodeURIComponent(id)}`;
    shown.append(link);
  }
  return shown;
}

function element(tag, text, className = "") {
  return Object.assign(document.createElement(tag), { textContent: text, className });
}
