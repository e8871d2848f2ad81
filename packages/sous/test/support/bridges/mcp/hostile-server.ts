/**
 * An MCP server that does as a file says, and speaks JSON-RPC by hand. `node hostile-server.ts FILE`: the file is read again for
 * every message, so that a test can change it. What comes in is written to `FILE.log`, one line each. Where a process is not the
 * point, the same server runs in the process of the test.
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

/** Where a server writes, and how it dies. */
export type Outside = { write(text: string): void; error(text: string): void; die(code: number): void };

/** What a server does with a line that it is sent. */
export function hostileServer(file: string, outside: Outside): (line: string) => void {
  const script = (): HostileScript => JSON.parse(readFileSync(file, "utf8")) as HostileScript;
  appendFileSync(`${file}.log`, `${JSON.stringify({ started: process.pid })}\n`);
  const { banner } = script();
  if (banner !== undefined) outside.write(banner);
  return (line) => {
    appendFileSync(`${file}.log`, `${line}\n`);
    const request = JSON.parse(line) as Request;
    const steps = script().on?.[request.method ?? ""];
    if (steps !== undefined) for (const step of steps) take(step, request, outside);
    else if (request.id !== undefined && request.method !== undefined)
      answer(request, usual(request, script()), outside);
  };
}

function usual({ method, params }: Request, { tools }: HostileScript): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "hostile", version: "1" },
      };
    case "tools/list":
      return { tools: tools ?? [{ name: "echo", description: "Echoes.", inputSchema: { type: "object" } }] };
    case "tools/call":
      return { content: [{ type: "text", text: `ran ${params?.name} ${JSON.stringify(params?.arguments)}` }] };
    default:
      return {};
  }
}

function take(step: Step, request: Request, outside: Outside): void {
  if ("raw" in step) {
    const line = `${step.raw.replaceAll("$ID", String(request.id))}\n`;
    outside.write("times" in step ? line.repeat(step.times) : line);
  } else if ("bytes" in step) writeBytes(step.bytes, outside);
  else if ("stderrBytes" in step) outside.error("e".repeat(step.stderrBytes));
  else if ("result" in step) answer(request, step.result, outside);
  else if ("environment" in step)
    answer(request, { content: [{ type: "text", text: JSON.stringify(process.env) }] }, outside);
  else {
    outside.error("out of luck\n");
    outside.die(step.die);
  }
}

/** A line that never ends. */
function writeBytes(bytes: number, { write }: Outside): void {
  const chunk = "x".repeat(1024 * 1024);
  for (let written = 0; written < bytes; written += chunk.length) write(chunk);
}

function answer({ id }: Request, result: unknown, { write }: Outside): void {
  write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}

/** As a process of its own. */
function serve(file: string): void {
  const take = hostileServer(file, {
    write: (text) => void process.stdout.write(text),
    error: (text) => void process.stderr.write(text),
    die: (code) => process.exit(code),
  });
  const { ignoresTerm, forks } = JSON.parse(readFileSync(file, "utf8")) as HostileScript;
  if (ignoresTerm) {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
  }
  if (forks) {
    const forever = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
    const child = spawn(process.execPath, ["-e", forever], { stdio: "ignore" });
    appendFileSync(`${file}.log`, `${JSON.stringify({ started: child.pid })}\n`);
  }
  createInterface({ input: process.stdin }).on("line", take);
}

if (process.argv[1] === import.meta.filename) serve(process.argv[2] ?? "");
