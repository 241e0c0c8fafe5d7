import type { DriverRequest } from "../../core/driver.js";
import { isSecretName } from "./redactor.js";

/** Every credential that the driver can know of, to keep them out of what it says. */
export function secretsOf(request: Pick<DriverRequest, "mcpServers" | "env">): string[] {
  const ofServers = request.mcpServers.flatMap((server) =>
    Object.values((server.transport === "http" ? server.headers : server.env) ?? {}),
  );
  const ofEnvironment = Object.entries(request.env).flatMap(([name, value]) =>
    isSecretName(name) ? [value] : [],
  );
  return [...ofServers, ...ofEnvironment];
}
