import { expect, it } from "vitest";
import { expandRunVariables } from "./mcp-server.js";

const VARIABLES = { RUN_ID: "run-1", RUN_TOKEN: "s3cret $& $1" };

it("expands RUN_ID and RUN_TOKEN in headers, literally and everywhere", () => {
  const server = {
    name: "m",
    transport: "http",
    url: "http://localhost/${RUN_ID}",
    headers: {
      Authorization: "Bearer ${RUN_TOKEN}",
      "X-Run": "${RUN_ID}/${RUN_ID}",
      "X-Other": "${HOME} $RUN_ID",
    },
  } as const;
  expect(expandRunVariables(server, VARIABLES)).toEqual({
    ...server,
    headers: { Authorization: "Bearer s3cret $& $1", "X-Run": "run-1/run-1", "X-Other": "${HOME} $RUN_ID" },
  });
  expect(server.headers.Authorization).toBe("Bearer ${RUN_TOKEN}");
});

it("expands env of a stdio server, never its arguments: those are seen by every process", () => {
  const server = {
    name: "m",
    transport: "stdio",
    command: "x",
    args: ["${RUN_TOKEN}"],
    env: { TOKEN: "${RUN_TOKEN}" },
  } as const;
  expect(expandRunVariables(server, VARIABLES)).toEqual({ ...server, env: { TOKEN: "s3cret $& $1" } });
});

it("leaves a server without headers or env alone", () => {
  const http = { name: "m", transport: "http", url: "http://localhost" } as const;
  const stdio = { name: "m", transport: "stdio", command: "x" } as const;
  expect(expandRunVariables(http, VARIABLES)).toEqual(http);
  expect(expandRunVariables(stdio, VARIABLES)).toEqual(stdio);
});

it("a run id that looks like a placeholder gives no token away", () => {
  const server = {
    name: "m",
    transport: "http",
    url: "http://localhost",
    headers: { "X-Run": "${RUN_ID}" },
  } as const;
  expect(expandRunVariables(server, { ...VARIABLES, RUN_ID: "${RUN_TOKEN}" })).toMatchObject({
    headers: { "X-Run": "${RUN_TOKEN}" },
  });
});
