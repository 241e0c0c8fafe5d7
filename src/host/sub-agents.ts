import { TroupeError } from "../core/errors.js";
import type { DelegationPolicy } from "../delegation/policy.js";
import type { RegisteredRemote } from "../delegation/registry.js";
import type { RemoteAgent } from "../delegation/remote.js";
import type { LocalHost, LocalRemote } from "../remotes/local/local-host.js";

/** An agent that the local ones may call: a remote one, or another of the host; with a policy of its own, if it has one. */
export type SubAgent =
  | RemoteAgent
  | LocalRemote
  | { readonly remote: RemoteAgent | LocalRemote; readonly policy?: Partial<DelegationPolicy> };

/** The sub-agents of a host as remotes. */
export class SubAgents {
  /** A local remote that is given twice is the same one. */
  readonly #locals = new WeakMap<LocalRemote, RemoteAgent>();

  /** @param reachable whether others can reach the host, for files by reference. */
  constructor(
    private readonly host: LocalHost,
    private readonly reachable: boolean,
  ) {}

  /**
   * Each with its whole policy.
   * @throws TroupeError `invalid_input` when one gets files by reference from a host that it cannot reach.
   */
  remotes(subAgents: readonly SubAgent[] = [], policy: Partial<DelegationPolicy> = {}): RegisteredRemote[] {
    return subAgents.map((entry) => {
      const { remote: given, policy: own = {} } = "remote" in entry ? entry : { remote: entry };
      const remote = typeof given === "function" ? this.#local(given) : given;
      const whole = { ...policy, ...own };
      if (whole.inputArtifacts === "reference" && !this.reachable) {
        const text = `"${remote.key}" gets files by reference: the host needs the publicUrl under which it is reached.`;
        throw new TroupeError("invalid_input", text);
      }
      return { remote, policy: whole };
    });
  }

  #local(given: LocalRemote): RemoteAgent {
    const remote = this.#locals.get(given) ?? given(this.host);
    this.#locals.set(given, remote);
    return remote;
  }
}
