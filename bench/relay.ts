// The no-op relay: takes the browser's POST, opens the remote's stream, and hands its bytes on as they come. What a path through a
// second process costs without Troupe in it.
import { createServer, request as open } from "node:http";

const remote = process.argv[2] ?? "";

const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "SendStreamingMessage",
    params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } },
  });
  const upstream = open(
    remote,
    { method: "POST", headers: { "content-type": "application/json", "a2a-version": "1.0" } },
    (stream) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      stream.pipe(response);
    },
  );
  upstream.end(body);
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null)
    process.send?.({ url: `http://127.0.0.1:${address.port}` });
});
process.on("disconnect", () => process.exit());
