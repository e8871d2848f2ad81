/** Runs whose events go to a collector: one that fails at first, and one that is gone. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { openExporter } from "./exporter.ts";

const look = tool({
  name: "look",
  description: "Looks around.",
  effect: "read",
  inputSchema: { type: "object", properties: { where: { type: "string" } } },
  execute: () => "a barn",
});
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel(calls("look", { where: "behind the house" }), says("There is a barn."));
const lead = agent({ name: "lead", model, tools: [look] });

const received: { seq: number; type: string }[] = [];
let requests = 0;
const collector = createServer(async (request, response) => {
  const body = await text(request);
  requests += 1;
  if (requests > 1) received.push(...JSON.parse(body));
  response.writeHead(requests === 1 ? 503 : 204).end();
}).listen(0, "127.0.0.1");
await once(collector, "listening");
const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/events`;

// #region use
{
  await using exporter = openExporter(url);
  const { status } = await run(lead, "What is there?", { onEvent: exporter.onEvent });
  console.log(status);
} // waits for what has not been sent yet
// #endregion
collector.close();
for (const { seq, type } of received) console.log(seq, type);
console.log(JSON.stringify(received).includes("barn") ? "texts were sent" : "no texts were sent");

const gone = openExporter(url);
const { status } = await run(lead.with({ model: scriptedModel(says("A barn.")) }), "And now?", {
  onEvent: gone.onEvent,
});
await gone[Symbol.asyncDispose]();
console.log(status, `${gone.dropped} events were dropped`);
