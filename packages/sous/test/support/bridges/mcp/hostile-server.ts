/**
 * An MCP server that does as a file says, and speaks JSON-RPC by hand. `node hostile-server.ts FILE`: the file is read again for
 * every message, so that a test can change it. What comes in is written to `FILE.log`, one line each.
 */

import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** What is done when a method is called, in this order. `$ID` in a raw line becomes the id of the request. */
export type Step =
  | { readonly raw: string }
  | { readonly raw: string; readonly times: number }
  | { readonly bytes: number }
  | { readonly stderrBytes: number }
  | { readonly result: unknown }
  | { readonly die: number }
  | { readonly environment: true };

export type HostileScript = {
  readonly banner?: string;
  readonly tools?: readonly unknown[];
  readonly ignoresTerm?: boolean;
  readonly forks?: boolean;
  readonly on?: Readonly<Record<string, readonly Step[]>>;
};

type Request = { id?: number; method?: string; params?: { name?: string; cursor?: string; arguments?: unknown } };

const [, , file = ""] = process.argv;
const script = (): HostileScript => JSON.parse(readFileSync(file, "utf8")) as HostileScript;
const log = (line: string): void => appendFileSync(`${file}.log`, `${line}\n`);

log(JSON.stringify({ started: process.pid }));
const { banner, ignoresTerm, forks } = script();
if (banner !== undefined) process.stdout.write(banner);
if (ignoresTerm) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
}
if (forks) {
  const forever = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ["-e", forever], { stdio: "ignore" });
  log(JSON.stringify({ started: child.pid }));
}

createInterface({ input: process.stdin }).on("line", (line) => {
  log(line);
  const request = JSON.parse(line) as Request;
  const steps = script().on?.[request.method ?? ""];
  if (steps !== undefined) for (const step of steps) take(step, request);
  else if (request.id !== undefined && request.method !== undefined) answer(request, usual(request));
});

function usual({ method, params }: Request): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "hostile", version: "1" },
      };
    case "tools/list":
      return { tools: script().tools ?? [{ name: "echo", description: "Echoes.", inputSchema: { type: "object" } }] };
    case "tools/call":
      return { content: [{ type: "text", text: `ran ${params?.name} ${JSON.stringify(params?.arguments)}` }] };
    default:
      return {};
  }
}

function take(step: Step, request: Request): void {
  if ("raw" in step) {
    const line = `${step.raw.replaceAll("$ID", String(request.id))}\n`;
    process.stdout.write("times" in step ? line.repeat(step.times) : line);
  } else if ("bytes" in step) writeBytes(step.bytes);
  else if ("stderrBytes" in step) process.stderr.write("e".repeat(step.stderrBytes));
  else if ("result" in step) answer(request, step.result);
  else if ("environment" in step) answer(request, { content: [{ type: "text", text: JSON.stringify(process.env) }] });
  else {
    process.stderr.write("out of luck\n");
    process.exit(step.die);
  }
}

/** A line that never ends. */
function writeBytes(bytes: number): void {
  const chunk = "x".repeat(1024 * 1024);
  for (let written = 0; written < bytes; written += chunk.length) process.stdout.write(chunk);
}

function answer({ id }: Request, result: unknown): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}
