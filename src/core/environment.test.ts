import { expect, it } from "vitest";
import { programEnvironment } from "./environment.js";

const HOST = {
  PATH: "/bin",
  HOME: "/home/ada",
  LC_ALL: "C",
  LANG: undefined,
  HTTPS_PROXY: "http://proxy:3128",
  CLAUDE_CONFIG_DIR: "/c",
  ANTHROPIC_API_KEY: "sk-parent",
  RESEARCH_TOKEN: "sk-remote",
  AWS_SECRET_ACCESS_KEY: "sk-aws",
  MY_PATH: "no",
  PATH_EXTRA: "no",
};

it("passes the usual variables and those that the driver names; the host's other secrets stay out", () => {
  expect(programEnvironment(HOST, ["CLAUDE_*", "ANTHROPIC_API_KEY"], {})).toEqual({
    PATH: "/bin",
    HOME: "/home/ada",
    LC_ALL: "C",
    HTTPS_PROXY: "http://proxy:3128",
    CLAUDE_CONFIG_DIR: "/c",
    ANTHROPIC_API_KEY: "sk-parent",
  });
});

it("lets what the agent gives win", () => {
  expect(programEnvironment(HOST, [], { HOME: "/tmp", RESEARCH_TOKEN: "on purpose" })).toMatchObject({
    HOME: "/tmp",
    RESEARCH_TOKEN: "on purpose",
  });
});
