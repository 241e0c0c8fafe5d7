/** Name of the MCP server inside a parent that its delegations go through; reserved. */
export const MCP_SERVER_NAME = "a2a-subagents";
