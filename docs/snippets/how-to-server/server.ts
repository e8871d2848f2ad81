/** An agent behind node:http: answers that stream, jobs in the background, health, shutdown, resume at boot. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, type RunHandle, type RunResult, UserError } from "sous";
import { openSqliteStore } from "sous/sqlite";
import { lead } from "./agent.ts";

// #region setup
const MAX_RUNS = 2;
const GRACE_MS = 500;
const MAX_BODY = 100_000;

const store = await openSqliteStore(process.env.DB ?? "runs.db");
// A run that cannot be stored fails, because the server promises to continue it.
const runtime = createRuntime({ store, requireStore: true, agents: [lead] });
const live = new Map<string, RunHandle>();
let isStopping = false;

function track(handle: RunHandle): RunHandle {
  live.set(handle.id, handle);
  handle.result.catch(report).finally(() => live.delete(handle.id));
  return handle;
}

function report(error: unknown): void {
  console.error(error instanceof UserError ? error.message : error);
}
// #endregion

// #region ask
async function ask(task: string, response: ServerResponse): Promise<void> {
  const handle = track(runtime.run(lead, task, { budget: { durationMs: 300_000 } }));
  const gone = new AbortController();
  response.on("close", () => {
    gone.abort();
    handle.cancel(); // after the end of the run it does nothing
  });
  for await (const event of handle) {
    if (event.type !== "text-delta" || event.depth > 0) continue;
    const isRoom = response.write(`${JSON.stringify({ text: event.text })}\n`);
    if (!isRoom) await once(response, "drain", gone).catch(() => {}); // a slow reader, or one that has left
  }
  const result = await handle.result;
  if (!response.headersSent) response.statusCode = codeOf(result);
  response.end(`${JSON.stringify({ id: result.runId, status: result.status })}\n`);
}
// #endregion

// #region jobs
async function startJob(task: string, response: ServerResponse): Promise<void> {
  const handle = track(runtime.run(lead, task, { budget: { durationMs: 3_600_000 } }));
  // The first event is shown when it is stored: from then on the job outlives this process.
  for await (const _event of handle) return json(response, 202, { id: handle.id });
  await handle.result; // It could not begin: this rejects.
}

async function showJob(id: string, response: ServerResponse): Promise<void> {
  const record = await store.run(id);
  if (record === undefined) return json(response, 404, { error: "No such job" });
  const end = (await store.read(record.rootId, { runId: id })).findLast((event) => event.type === "run-end");
  json(response, 200, { id, status: record.status, text: end?.text });
}
// #endregion

// #region errors
function codeOf({ status, error }: RunResult): number {
  if (status !== "failed") return 200; // also stopped by a limit: the body says which
  if (error?.kind === "rate_limit" || error?.kind === "overloaded") return 503;
  return error?.type === "model" ? 502 : 500;
}

function fail(error: unknown, response: ServerResponse): void {
  report(error);
  if (response.headersSent) return void response.destroy();
  // A UserError is about the setup (no key, no such model): for the operator, not for the client.
  json(response, error instanceof UserError ? 503 : 500, { error: "The server cannot answer" });
}
// #endregion

const server = createServer((request, response) => void handle(request, response).catch((e) => fail(e, response)));

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const route = `${request.method} ${pathname}`;
  if (route === "GET /health") return json(response, isStopping ? 503 : 200, { live: live.size, isStopping });
  if (route.startsWith("GET /jobs/")) return showJob(pathname.slice("/jobs/".length), response);
  if (route !== "POST /ask" && route !== "POST /jobs") return json(response, 404, { error: "No such page" });
  const task = await readTask(request);
  if (task === undefined) return json(response, 400, { error: "The body must be JSON with a task" });
  if (isStopping || live.size >= MAX_RUNS) {
    response.setHeader("retry-after", "5");
    return json(response, 503, { error: "Too many runs" });
  }
  return route === "POST /ask" ? ask(task, response) : startJob(task, response);
}

// #region boot
async function resumeInterrupted(): Promise<void> {
  const since = Date.now() - 24 * 60 * 60 * 1000;
  for (const { id, lost } of await store.list({ status: "interrupted", rootsOnly: true, since })) {
    if (lost !== undefined) continue; // it cannot be resumed
    if (isStopping || live.size >= MAX_RUNS) return;
    if (live.has(id)) continue;
    const { result } = track(runtime.resume(id));
    // The next one continues when this has ended well; after an error, the timer tries again.
    result.then(resumeInterrupted).catch(() => {});
  }
}

await resumeInterrupted();
// Other processes on this database may die, too.
setInterval(() => void resumeInterrupted().catch(report), Number(process.env.RESUME_MS ?? 30_000)).unref();
// #endregion

// #region shutdown
async function shutDown(): Promise<void> {
  isStopping = true;
  server.close();
  const ended = Promise.allSettled([...live.values()].map(({ result }) => result));
  await Promise.race([ended, sleep(GRACE_MS)]);
  // Runs that have not ended stay in the store as interrupted, and the next process continues them.
  await store[Symbol.asyncDispose]();
  process.exit(0);
}

for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => void shutDown());
// #endregion

server.listen(Number(process.env.PORT ?? 8080), process.env.HOST ?? "127.0.0.1", () => {
  console.log(JSON.stringify(server.address()));
});

function json(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}

async function readTask(request: IncomingMessage): Promise<string | undefined> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) {
    body += chunk;
    if (body.length > MAX_BODY) return undefined;
  }
  try {
    const { task } = JSON.parse(body);
    return typeof task === "string" && task.trim() !== "" ? task : undefined;
  } catch {
    return undefined;
  }
}
