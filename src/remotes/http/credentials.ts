import { type Clock, systemClock } from "../../core/clock.js";
import { WireError } from "../../wire/errors.js";
import { createGuardedFetch, type GuardedFetch } from "../../wire/guarded-fetch.js";
import { createRedactor, type Redactor } from "../../wire/redact.js";
import type { CredentialContext, CredentialOptions } from "./auth.js";
import { TokenSource } from "./token-source.js";

type Headers = Readonly<Record<string, string>>;

/** Secrets of tokens and callbacks that are remembered for redaction; older ones are forgotten. */
const MAX_SECRETS = 100;

/** The credential of one entry, and everything in it that must never be seen. */
export class Credentials {
  readonly #options: CredentialOptions;
  readonly #tokens: TokenSource | undefined;
  readonly #guard: GuardedFetch | undefined;
  /** What the entry itself holds; never forgotten. */
  readonly #own: readonly string[];
  /** The last ones of tokens and callbacks, the latest used last. */
  readonly #secrets = new Set<string>();
  #redact: Redactor;

  constructor(
    options: CredentialOptions & { readonly clock?: Clock },
    clock: Clock = options.clock ?? systemClock,
  ) {
    this.#options = options;
    const { auth } = options;
    if (auth?.mode === "oauth2") {
      this.#guard = createGuardedFetch({
        clock,
        origins: [auth.tokenUrl],
        maxResponseBytes: 65_536,
        acceptStatus: () => true,
      });
      this.#tokens = new TokenSource({ ...auth, clock, fetch: this.#guard.fetch });
    }
    this.#own = ownSecrets(auth);
    this.#redact = createRedactor(this.#own);
    const current = () => this.#redact;
    const redact = Object.assign((text: string) => current()(text), {
      active: true,
      split: (text: string) => current().split(text),
    });
    this.redact = Object.defineProperty(redact, "active", { get: () => current().active });
  }

  /** Whether there is anything to send. */
  get present(): boolean {
    const { auth, credential } = this.#options;
    return credential !== undefined || (auth !== undefined && auth.mode !== "none");
  }

  /** Removes every secret that was ever sent. */
  readonly redact: Redactor;

  /**
   * Runs `call` with the credential's headers. When they are refused with 401 and others can be had, once more with those: a
   * request that was refused so was not carried out.
   */
  async use<T>(context: CredentialContext, call: (headers: Headers) => Promise<T>): Promise<T> {
    const { headers, token } = await this.#headers(context);
    try {
      return await call(headers);
    } catch (error) {
      const refused = error instanceof WireError && error.status === 401;
      const renewable = token !== undefined || this.#options.credential !== undefined;
      if (!refused || !renewable) throw error;
      if (token !== undefined) this.#tokens?.discard(token);
      const renewed = (await this.#headers(context)).headers;
      // The same again would only be refused again.
      if (JSON.stringify(renewed) === JSON.stringify(headers)) throw error;
      return call(renewed);
    }
  }

  async close(): Promise<void> {
    await this.#guard?.close();
  }

  async #headers(context: CredentialContext): Promise<{ headers: Headers; token?: string }> {
    const { auth, credential } = this.#options;
    const own = credential === undefined ? {} : await credential(context);
    this.#remember(Object.values(own));
    switch (auth?.mode) {
      case "bearer":
        return { headers: { Authorization: `Bearer ${auth.token}`, ...own } };
      case "api_key":
        return { headers: { [auth.headerName ?? "X-API-Key"]: auth.key, ...own } };
      case "oauth2": {
        const token = (await this.#tokens?.get()) ?? "";
        this.#remember([token]);
        return { headers: { Authorization: `Bearer ${token}`, ...own }, token };
      }
      default:
        return { headers: own };
    }
  }

  /** A header such as `Bearer x` hides the secret in its last word. */
  #remember(values: readonly string[]): void {
    let changed = false;
    for (const secret of values.flatMap((value) => [value, value.split(" ").at(-1) ?? value])) {
      if (secret.length === 0) continue;
      // One that is in use stays, however many come after it.
      if (!this.#secrets.delete(secret)) changed = true;
      this.#secrets.add(secret);
    }
    if (!changed) return;
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= MAX_SECRETS) break;
      this.#secrets.delete(oldest);
    }
    this.#redact = createRedactor([...this.#own, ...this.#secrets]);
  }
}

function ownSecrets(auth: CredentialOptions["auth"]): string[] {
  switch (auth?.mode) {
    case "bearer":
      return [auth.token];
    case "api_key":
      return [auth.key];
    case "oauth2":
      return [auth.clientSecret];
    default:
      return [];
  }
}
