/** Who makes a request. */
export interface Principal {
  /** Threads, runs and delegations of one tenant do not exist for another. */
  readonly tenant?: string;
}

/** Decides who may use the host. `undefined` refuses with 401. */
export type Authorise = (request: Request) => Promise<Principal | undefined> | Principal | undefined;

/** The journal's key of a thread: tenants never share one, whatever they call their threads. */
export function threadKey({ tenant = "" }: Principal, threadId: string): string {
  return `${encodeURIComponent(tenant)}/${threadId}`;
}

/** Whose thread it is; empty on a host without tenants. */
export function tenantOf(key: string): string {
  return decodeURIComponent(key.slice(0, key.indexOf("/")));
}

/** For whom a thread exists. */
export function principalOf(key: string): Principal {
  const tenant = tenantOf(key);
  return tenant === "" ? {} : { tenant };
}

/** The thread's id as its tenant knows it. */
export function threadIdOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

/** Whether what belongs to the thread of `key` exists for `principal`. */
export function owns({ tenant = "" }: Principal, key: string): boolean {
  return key.startsWith(`${encodeURIComponent(tenant)}/`);
}
