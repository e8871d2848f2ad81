/** Approval over HTTP: a task that needs approval answers at once with its questions, and a later request gives the answer. */

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { agent, createRuntime, openMemoryStore, type RunResult, tool, UserError } from "sous";
import { calls, says, scriptedModel } from "sous/testing";

const model = scriptedModel(calls("refund", { order: 17, usd: 40 }), says("The refund is on its way."));

// #region runtime
const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  tier: "confirm",
  inputSchema: { type: "object", properties: { order: { type: "number" }, usd: { type: "number" } } },
  execute: () => "refunded",
});

// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const clerk = agent({ name: "clerk", model, tools: [refund] });

// A server keeps its runs in SQLite or Postgres: a process that starts tomorrow finds the questions there.
const store = openMemoryStore();
const runtime = createRuntime({ store, requireStore: true, agents: [clerk], approve: () => "later" });
// #endregion

// #region server
const server = createServer(async (request, response) => {
  const reply = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
  try {
    const [, runs, id, answers] = (request.url ?? "").split("/");
    if (runs !== "runs") reply(404, { error: "Not found" });
    else if (request.method === "POST" && id === undefined) {
      const { task } = await body<{ task: string }>(request);
      const result = await runtime.run(clerk, task).result;
      reply(result.questions.length > 0 ? 202 : 200, summary(result));
    } else if (request.method === "GET" && id !== undefined) {
      const record = await store.run(id);
      reply(200, { status: record?.status, questions: await runtime.questions(id) });
    } else if (request.method === "POST" && id !== undefined && answers === "answers") {
      const result = await runtime.resume(id, { answers: await body(request) }).result;
      reply(result.questions.length > 0 ? 202 : 200, summary(result));
    } else reply(405, { error: "Method not allowed" });
  } catch (error) {
    // An id that is unknown, or a question that has its answer already.
    if (error instanceof UserError) reply(409, { error: error.message });
    else if (error instanceof SyntaxError) reply(400, { error: "The body is not JSON" });
    else reply(500, { error: "Internal error" });
  }
});
// #endregion

function summary({ runId, status, text, questions }: RunResult) {
  return { runId, status, text, questions };
}

async function body<T>(request: IncomingMessage): Promise<T> {
  return (await json(request)) as T;
}

await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

async function call(method: string, path: string, given?: unknown) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    ...(given !== undefined && { body: JSON.stringify(given) }),
  });
  return { status: response.status, body: (await response.json()) as Awaited<ReturnType<typeof summary>> };
}

// #region client
const asked = await call("POST", "/runs", { task: "Refund order 17." });
const [question] = asked.body.questions;
console.log(asked.status, question?.action);

const { runId } = asked.body;
console.log((await call("GET", `/runs/${runId}`)).body.status);

// The digest is over all that was shown: the answer counts for that and nothing else.
const answers = { [`${question?.id}:${question?.digest}`]: { allow: true } };
const answered = await call("POST", `/runs/${runId}/answers`, answers);
console.log(answered.status, answered.body.text);

// A question is answered once.
console.log((await call("POST", `/runs/${runId}/answers`, answers)).status);
// #endregion

server.close();
