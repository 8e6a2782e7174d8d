// The least that a sidecar on Node does: read the configuration from stdin, start Chromium with one page through
// playwright-core, answer GET /health, and print the ready line. The reference is measured beside it.
import { createServer } from "node:http";
import { chromium } from "playwright-core";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const config = JSON.parse(text);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  chromiumSandbox: config.chromium_sandbox ?? true,
});
await browser.newPage();

const server = createServer((request, response) => {
  const known = request.url === "/health" && request.headers.authorization === `Bearer ${config.token}`;
  response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
  response.end(JSON.stringify({ ok: known }));
});
await new Promise((listening) => server.listen(config.port ?? 0, "127.0.0.1", listening));
console.log(JSON.stringify({ ready: true, port: server.address().port, version: "0", pid: process.pid }));

process.once("SIGTERM", async () => {
  server.close();
  await browser.close();
  process.exit(0);
});
