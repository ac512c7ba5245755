// A server of the MCP SDK for Node with one tool that answers its own arguments: what Weft's endpoint is held against.
// `node server.mjs` listens on a free port of 127.0.0.1 with two paths, prints its address, and ends with its input.

import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const tool = { name: "echo", description: "Answers its arguments.", inputSchema: { type: "object" } };

function echoServer() {
  const server = new Server({ name: "echo", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool] }));
  server.setRequestHandler(CallToolRequestSchema, (request) => {
    const answer = request.params.arguments ?? {};
    return { content: [{ type: "text", text: JSON.stringify(answer) }], structuredContent: answer };
  });
  return server;
}

const sessions = new Map();

async function inSession(request, response) {
  const known = sessions.get(request.headers["mcp-session-id"]);
  if (known) return known.handleRequest(request, response);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await echoServer().connect(transport);
  return transport.handleRequest(request, response);
}

// The SDK's way without sessions: a server and a transport for each request.
async function stateless(request, response) {
  const server = echoServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => {
    transport.close();
    server.close();
  });
  await server.connect(transport);
  return transport.handleRequest(request, response);
}

const http = createServer((request, response) => {
  const answer = request.url === "/session" ? inSession : stateless;
  answer(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
http.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ address: `127.0.0.1:${http.address().port}` }));
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
