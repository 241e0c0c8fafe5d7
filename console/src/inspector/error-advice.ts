/** What to do about each error of a delegation; the codes are a closed set. */
const ADVICE: Readonly<Record<string, string>> = {
  agent_not_found: "Check the agent’s name under “subAgents” in the host’s config.",
  agent_unavailable: "Check that the agent runs, and its address and credential in the host’s config.",
  agent_busy: "Wait for another delegation to end, or raise the limit on how many may work at once.",
  capability_unsupported: "The agent cannot do what this needs. Nothing was sent to it.",
  policy_denied: "The host’s policy forbids it. If the address is right, add it to “trustedOrigins”.",
  invalid_input: "The call’s arguments are wrong; the message says which.",
  input_required: "It asked something and got no answer. Put what it asks for into the task.",
  nothing_asked: "It waits for no answer, or somebody else was faster.",
  remote_rejected: "The agent refused the task. Its words say why.",
  remote_failed: "The agent’s own task failed. Its words say why.",
  remote_timeout: "Ask for less, or give it more time.",
  remote_cancelled: "The agent cancelled its task by itself. Try again.",
  stream_interrupted: "The connection to the agent broke. Try again.",
  artifact_too_large: "A file is larger than the host takes. Ask for less, or raise the limit.",
  result_expired: "The host no longer has its result.",
  host_stopped: "The host stopped while it worked. Start it again.",
  internal: "The host failed. Its log says why.",
};

export function adviceFor(code: string): string | undefined {
  return ADVICE[code];
}
