import { TroupeError } from "../core/errors.js";

/** A config that cannot be used: says where, what was found, and what is allowed. */
export class ConfigError extends TroupeError<"invalid_config"> {
  constructor(message: string, cause?: unknown) {
    super("invalid_config", message, cause === undefined ? {} : { cause });
    this.name = "ConfigError";
  }
}
