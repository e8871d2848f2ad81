/** A run that a browser watches: its connection is cut, and it continues where it was. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { agent, openMemoryStore, tool } from "sous";
import { calls, scriptedModel, streams } from "sous/testing";
import { createStreamServer } from "./server.ts";

const connectedAgain = Promise.withResolvers<void>();
const look = tool({
  name: "look",
  description: "Looks around.",
  effect: "read",
  inputSchema: { type: "object", properties: { password: { type: "string" } } },
  // Takes until the browser has lost its connection and is back.
  execute: () => connectedAgain.promise.then(() => "a barn"),
});
// With a key in ANTHROPIC_API_KEY: model: "anthropic/claude-sonnet-4-5"
const model = scriptedModel({
  lead: [[streams("I ", "look."), calls("look", { password: "open sesame" })], streams("I see ", "a barn.")],
});
const lead = agent({ name: "lead", model, tools: [look] });

const server = createStreamServer(lead, openMemoryStore()); // or openSqliteStore("runs.db") from "sous/sqlite"
const views: ServerResponse[] = [];
server.on("request", ({ method }, response) => {
  if (method === "GET" && views.push(response) === 2) connectedAgain.resolve();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/runs`;

const { id } = (await (await fetch(url, { method: "POST" })).json()) as { id: string };
// Node has the EventSource of browsers behind a flag.
const flags = ["--experimental-eventsource", "--disable-warning=UNDICI-ES", "--input-type=module", "--eval"];
const page = `
  import { watch } from ${JSON.stringify(join(import.meta.dirname, "browser.js"))};
  watch(${JSON.stringify(`${url}/${id}`)}, {
    show: (event, text) => console.log(JSON.stringify({ ...event, text })),
    done: (status) => process.exit(console.log(status)),
  });
  setInterval(() => {}, 1000); // a page stays open
`;
const browser = spawn(process.execPath, [...flags, page], { stdio: ["ignore", "pipe", "inherit"] });
let seen = "";
browser.stdout.setEncoding("utf8").on("data", (text: string) => {
  seen += text;
  if (seen.includes("tool-call-start") && views.length === 1) views[0]?.destroy();
});
await once(browser, "exit");
console.log(seen.trim());

console.log("— from the start, after the end");
const all = await (await fetch(`${url}/${id}`)).text();
console.log(all.trim());
console.log("— behind event 3");
console.log((await (await fetch(`${url}/${id}`, { headers: { "last-event-id": "3" } })).text()).trim());
server.close();
