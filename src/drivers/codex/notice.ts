import type { DriverEvent } from "../../core/run-event.js";
import { startOf } from "../../core/text.js";
import { asObject, asText, type JsonObject } from "../process/json.js";

type Notice = Extract<DriverEvent, { type: "notice" }>;

/** Characters of the program's own words in one notice. */
const WORDS = 1_000;

/** Reads a notification as something that a person should know; `undefined` when it is not. */
export function noticeOf(method: string, params: JsonObject): Notice | undefined {
  switch (method) {
    case "warning":
    case "guardianWarning":
      return warning("codex_warning", asText(params.message));
    case "configWarning":
      return warning("codex_warning", sentence(params.summary, params.details));
    case "deprecationNotice":
      return warning("codex_deprecation", sentence(params.summary, params.details));
    case "model/rerouted":
      return warning(
        "model_rerouted",
        `Codex uses ${asText(params.toModel) ?? "another model"} instead of ${asText(params.fromModel) ?? "the chosen one"}.`,
      );
    case "mcpServer/startupStatus/updated": {
      if (params.status !== "failed" && params.status !== "cancelled") return undefined;
      const name = asText(params.name) ?? "without a name";
      const why = asText(params.error) ?? String(params.status);
      return warning(
        "mcp_server_failed",
        `Codex could not use the MCP server ${name} (${startOf(why, 300)}); its tools are missing.`,
      );
    }
    case "error": {
      if (params.willRetry !== true) return undefined;
      const { message, additionalDetails } = asObject(params.error);
      return warning(
        "api_retry",
        `The model's API failed and is asked again: ${sentence(message, additionalDetails) ?? "no reason given"}`,
      );
    }
    default:
      return undefined;
  }
}

function warning(code: string, message: string | undefined): Notice | undefined {
  if (message === undefined) return undefined;
  return { type: "notice", level: "warning", code, message: startOf(message, WORDS) };
}

function sentence(summary: unknown, details: unknown): string | undefined {
  const parts = [asText(summary), asText(details)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(" ");
}
