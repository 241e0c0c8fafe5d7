// What commands let one choose from. Here, because help and completions need it at once, and what stands behind it takes time to load.

/** The MCP clients that `troupe mcp install` knows. */
export const CLIENTS = ["claude", "codex", "cursor", "vscode"] as const;

/** One of {@link CLIENTS}. */
export type ClientName = (typeof CLIENTS)[number];

/** The drivers whose programs `troupe agents` looks for, in the order in which it lists them. */
export const DRIVERS = ["claude", "codex", "gemini", "opencode", "cursor"] as const;
