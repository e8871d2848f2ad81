/** An engine of one's own: a queue carries the ids of runs, and a worker's half continues each. The model is a server here. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { agent, createRuntime, openMemoryStore } from "sous";
import type { Engine } from "sous/engine";

const answer = { choices: [{ index: 0, delta: { content: "Three." }, finish_reason: "stop" }] };
const server = createServer((_, response) => {
  response.setHeader("content-type", "text/event-stream");
  response.end(`data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`);
}).listen(0, "127.0.0.1");
await once(server, "listening");
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const host = { environment: { OPENAI_COMPATIBLE_BASE_URL: address } };

const store = openMemoryStore();
const agents = [agent({ name: "counter", model: "openai-compatible/any" })] as const;
/** Yours is a server: BullMQ, SQS, Temporal. This one runs a job at once, and again when it fails. */
const queue = {
  async add(job: { runId: string }): Promise<void> {
    for (;;) if (await work(job).then(() => true, console.log)) return;
  },
};

// #region engine
const engine: Engine = { continueRun: (runId) => queue.add({ runId }) };
const runtime = createRuntime({ store, engine, agents, host });
// #endregion

// #region work
async function work({ runId }: { runId: string }): Promise<void> {
  const end = await runtime.workOn(runId, { name: "queue" });
  console.log(end); // "ended", or "parked": it waits for an answer
  if (end === "left") throw new Error("Given back, or taken over: the queue offers it again");
}
// #endregion

const submitted = await runtime.submit(agents[0], "How many are there?");
const { status, text } = await submitted.result;
console.log(`${status}: ${text}`);
server.close();
server.closeAllConnections();
