import { code, table } from "./markdown.js";
import { TypePage } from "./type-page.js";
import { TypeReader } from "./type-reader.js";

/** Where the types of what routes take and answer are declared. */
const SOURCES = [
  "src/host/routes/shapes.ts",
  "src/host/delegation-history.ts",
  "src/delegation/events.ts",
  "src/delegation/delegation-state.ts",
  "src/delegation/remote.ts",
  "src/delegation/result.ts",
  "src/core/run-event.ts",
];

const INTRODUCTION = `# HTTP reference

What each route takes and answers, as the types have it. What the routes do, the event streams and their frames are in
[HTTP routes and frames](../http.md). This page is made from the types by \`npm run docs\`.

A field with \`?\` may be absent, and so may one whose type has \`undefined\`. Any route may answer with
[an error](#erroranswer), with a status that [errors](../errors.md#http-routes) lists. New fields may come with any version.`;

interface Route {
  readonly route: string;
  readonly takes?: string;
  readonly status?: number;
  /** A type, or what else it is. */
  readonly answers: string;
}

/** In the order of the page. */
const ROUTES: readonly Route[] = [
  { route: "POST /agents/:agent/run", takes: "AG-UI's `RunAgentInput`", answers: "events of the run" },
  { route: "GET /threads", answers: "ThreadsAnswer" },
  { route: "GET /threads/:threadId/events", answers: "events of the thread" },
  { route: "POST /threads/:threadId/connect", answers: "events of the thread" },
  { route: "GET /runs/:runId", answers: "RunDetails" },
  { route: "GET /runs/:runId/delegations", answers: "DelegationsAnswer" },
  { route: "POST /runs/:runId/cancel", takes: "CancelBody", status: 202, answers: "RunCancelAnswer" },
  { route: "GET /delegations/:id", answers: "DelegationDetails" },
  {
    route: "POST /delegations/:id/cancel",
    takes: "CancelBody",
    status: 202,
    answers: "DelegationCancelAnswer",
  },
  { route: "POST /delegations/:id/input", takes: "InputBody", status: 202, answers: "InputAnswer" },
  { route: "GET /delegations/:id/artifacts/:artifactId", answers: "the bytes of the file" },
  { route: "GET /shared/:token", answers: "the bytes of the file" },
  { route: "POST /approvals/:id", takes: "DecisionBody", status: 202, answers: "DecisionAnswer" },
  { route: "GET /agents", answers: "AgentsAnswer" },
  { route: "GET /healthz", answers: "HealthAnswer" },
];

/** The page with every route that is not A2A's or the console's. */
export function httpReference(): string {
  using types = new TypeReader(SOURCES);
  const page = new TypePage(types);
  const shown = (what = "") => (types.has(what) ? page.type(what) : what);
  const rows = ROUTES.map(({ route, takes, status = 200, answers }) => [
    code(route),
    shown(takes),
    String(status),
    shown(answers),
  ]);
  page.type("ErrorAnswer");
  const parts = [INTRODUCTION, "## Routes", table(["Route", "Takes", "Status", "Answers"], rows), "## Types"];
  return `${[...parts, ...page.declarations()].join("\n\n")}\n`;
}
