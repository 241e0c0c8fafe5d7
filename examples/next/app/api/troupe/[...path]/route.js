import { troupeHost } from "../../../../lib/host.js";

/** An agent is a process of this machine. */
export const runtime = "nodejs";
/** Streams are never prerendered or kept. */
export const dynamic = "force-dynamic";

const PATH = "/api/troupe";

async function handle(request) {
  const { protocol, host, pathname, search } = new URL(request.url);
  // Next.js gives its own name for every request. The host checks the name that was asked for: that keeps foreign pages out.
  const url = new URL(`${protocol}//${request.headers.get("host") ?? host}`);
  url.pathname = pathname.slice(PATH.length);
  url.search = search;
  const { fetch } = await troupeHost();
  // The new request keeps the body and the signal, by which the host knows that a reader has left.
  return fetch(new Request(url, request));
}

export { handle as GET, handle as POST };
