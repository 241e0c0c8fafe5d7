import type { DefaultTheme } from "vitepress";

const page = (text: string, link: string): DefaultTheme.SidebarItem => ({ text, link: `/${link}` });

const start = [
  page("Troupe", ""),
  page("Getting started", "getting-started"),
  page("Concepts", "concepts"),
  page("Examples", "examples/"),
  page("Questions and answers", "faq"),
];

const localAgents = [
  page("Claude Code", "claude-code"),
  page("Codex", "codex"),
  page("ACP agents", "acp"),
  page("Cursor", "cursor"),
];

const subAgents = [
  page("A2A", "a2a-remotes"),
  page("AG-UI", "agui-remotes"),
  page("Agents of the host", "local-remotes"),
];

const guides = [
  { text: "Local agents", items: localAgents },
  { text: "Sub-agents", items: subAgents },
  page("In your own terminal", "external-parents"),
  page("Console", "console"),
  page("Embedding", "embedding"),
  page("Agents as A2A servers", "a2a-server"),
  page("When a remote asks", "input-required"),
  page("Artifacts", "artifacts"),
  page("Deployment", "deployment"),
  page("Telemetry", "telemetry"),
  page("Test kit", "testing-kit"),
  page("Migrating from a2a-wrapper", "migrating"),
];

const reference = [
  page("Configuration", "configuration"),
  page("Configuration, every key", "reference/configuration"),
  page("Command line", "cli"),
  page("HTTP routes and frames", "http"),
  page("HTTP, every body and answer", "reference/http"),
  page("Events", "reference/events"),
  page("MCP endpoint and tool", "mcp-endpoint"),
  page("Errors", "errors"),
  page("Timeouts", "timeouts"),
  page("Journals", "journals"),
  page("Replay", "replay"),
  page("Interoperability", "interop"),
];

const background = [
  page("Architecture", "architecture"),
  page("Decisions", "decisions/"),
  page("Cancellation", "cancellation"),
  page("Recovery", "recovery"),
  page("Security", "security"),
  page("Benchmarks", "benchmarks"),
  page("Comparison", "comparison"),
  page("Contributing", "CONTRIBUTING"),
  page("Changelog", "CHANGELOG"),
];

/** The site's pages by what one wants of them. */
export const sidebar: DefaultTheme.SidebarItem[] = [
  { text: "Start", items: start },
  { text: "Guides", items: guides },
  { text: "Reference", items: reference },
  { text: "Background", items: background },
];
