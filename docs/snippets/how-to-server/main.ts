/** A server and its clients: an answer that streams, a client that leaves, a failure, a full server, a restart, a crash. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const folder = mkdtempSync(join(tmpdir(), "sous-example-"));
const gate = join(folder, "gate");

async function start(): Promise<{ server: ChildProcess; url: string }> {
  const env = { ...process.env, PORT: "0", DB: join(folder, "runs.db"), GATE: gate, RESUME_MS: "200" };
  const server = spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, "server.ts")], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  server.stderr.on("data", (line) => console.log(`log: ${String(line).trim()}`));
  const [line] = await once(server.stdout, "data");
  return { server, url: `http://127.0.0.1:${JSON.parse(String(line)).port}` };
}

function post(url: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: "POST", body: JSON.stringify(body), ...(signal !== undefined && { signal }) });
}

async function status(url: string, id: string): Promise<string> {
  const { status, text } = (await (await fetch(`${url}/jobs/${id}`)).json()) as { status: string; text?: string };
  return `${status}${text === undefined ? "" : `: ${text}`}`;
}

async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await sleep(20);
}

let { server, url } = await start();
console.log("— an answer, line by line");
const answer = await post(`${url}/ask`, { task: "Say hello." });
console.log(answer.status, (await answer.text()).replaceAll(/"id":"\w+",/g, "").trim());

console.log("— a client that leaves");
const client = new AbortController();
const reader = (await post(`${url}/ask`, { task: "Talk." }, client.signal)).body?.getReader();
await reader?.read();
client.abort();
await until(async () => ((await (await fetch(`${url}/health`)).json()) as { live: number }).live === 0);
console.log("no run is live");

console.log("— a failure, and a wrong request");
const failure = await post(`${url}/ask`, { task: "Break." });
console.log(failure.status, (await failure.text()).replaceAll(/"id":"\w+",/g, "").trim());
console.log((await post(`${url}/ask`, { job: "?" })).status, (await fetch(`${url}/jobs/none`)).status);

console.log("— two jobs fill the server");
const jobs = [1, 2].map(() => post(`${url}/jobs`, { task: "Measure the site." }));
const ids = await Promise.all(jobs.map(async (job) => ((await (await job).json()) as { id: string }).id));
const refused = await post(`${url}/ask`, { task: "Say hello." });
console.log(refused.status, refused.headers.get("retry-after"));

console.log("— a restart");
server.kill("SIGTERM");
console.log(`ended with ${(await once(server, "exit"))[0]}`);
writeFileSync(gate, "");
({ server, url } = await start());
for (const id of ids) {
  await until(async () => (await status(url, id)).startsWith("completed"));
  console.log(await status(url, id));
}

console.log("— two servers, and one is killed");
rmSync(gate);
const other = await start();
const { id } = (await (await post(`${url}/jobs`, { task: "Measure the site." })).json()) as { id: string };
console.log(await status(other.url, id));
server.kill("SIGKILL");
console.log(`ended with ${(await once(server, "exit"))[1]}`);
writeFileSync(gate, "");
await until(async () => (await status(other.url, id)).startsWith("completed"));
console.log(await status(other.url, id));
other.server.kill("SIGTERM");
console.log(`ended with ${(await once(other.server, "exit"))[0]}`);
rmSync(folder, { recursive: true, maxRetries: 5 });
