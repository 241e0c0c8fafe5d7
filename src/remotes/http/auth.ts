import { TroupeError } from "../../core/errors.js";
import { comparableOrigin } from "../../wire/origin.js";

/** How calls to a remote prove who they are. */
export type RemoteAuth =
  | { readonly mode: "none" }
  | { readonly mode: "bearer"; readonly token: string }
  /** `headerName` defaults to `X-API-Key`. */
  | { readonly mode: "api_key"; readonly key: string; readonly headerName?: string }
  /**
   * OAuth 2 client credentials. The client's secret goes to the origin of `tokenUrl` only, the token to the entry's origins only.
   */
  | {
      readonly mode: "oauth2";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope?: string;
    };

/** What a credential is asked for. */
export interface CredentialContext {
  /** The entry's name. */
  readonly agent: string;
  /** Absent for what belongs to no delegation, such as the card; so are the others. */
  readonly delegationId?: string;
  readonly runId?: string;
  /** Whose run it is, on a host with tenants. */
  readonly tenant?: string;
}

/** The part of an entry's options that says how calls prove who they are. */
export interface CredentialOptions {
  /** The key by which the model knows the remote. */
  readonly name: string;
  readonly auth?: RemoteAuth;
  /**
   * Headers with the credential of one run and agent, asked for each request; beside or instead of `auth`. They go to the entry's
   * origins only.
   */
  readonly credential?: (
    context: CredentialContext,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** Origins beside the entry's own that may be called, with the credential. */
  readonly trustedOrigins?: readonly string[];
}

/** A header's name (RFC 9110, 5.1). */
export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Printable ASCII: anything else cannot be a header value everywhere. */
export const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Makes the error for an option that is wrong; its text names the option and never its value if that is secret. */
export function wrongOption(name: string, text: string): TroupeError {
  return new TroupeError("invalid_input", `Remote agent "${name}": ${text}`);
}

/**
 * Checks what all remotes behind HTTP have in common.
 * @throws TroupeError `invalid_input`, see {@link wrongOption}.
 */
export function checkCredentialOptions(options: CredentialOptions): void {
  const refuse = (text: string): never => {
    throw wrongOption(options.name, text);
  };
  if (options.name.trim() === "") refuse("it needs a name.");
  for (const origin of options.trustedOrigins ?? []) {
    if (comparableOrigin(origin) === undefined)
      refuse("each of trustedOrigins must be an absolute http or https URL.");
  }
  const { auth } = options;
  if (auth?.mode === "bearer" && !HEADER_VALUE.test(auth.token)) {
    refuse("auth.token is empty or holds characters that an HTTP header cannot carry.");
  }
  if (auth?.mode === "api_key") {
    if (!HEADER_VALUE.test(auth.key))
      refuse("auth.key is empty or holds characters that an HTTP header cannot carry.");
    if (auth.headerName !== undefined && !HEADER_NAME.test(auth.headerName))
      refuse("auth.headerName is not a header name.");
  }
  if (auth?.mode === "oauth2") {
    if (comparableOrigin(auth.tokenUrl) === undefined)
      refuse("auth.tokenUrl must be an absolute http or https URL without user and password.");
    if (auth.clientId === "" || auth.clientSecret === "")
      refuse("auth.clientId and auth.clientSecret must not be empty.");
  }
}
