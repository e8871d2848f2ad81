/**
 * A worker process of a figure. It says `ready` when its code is loaded, waits for its order on stdin, says `works` when it takes
 * runs, and then what becomes of each: `taken ID`, `ended ID`, `parked ID`, `left ID`. The line `stop` makes it give back what it has.
 */

import { randomBytes } from "node:crypto";
import { appendFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { agent } from "../../src/core/agent.ts";
import { type ToolContext, tool } from "../../src/core/tool.ts";
import { storeEngine } from "../../src/runtime/tree/placing/store-engine.ts";
import { createRuntime } from "../../src/runtime.ts";
import { newOwner } from "../../src/storage/store/owner.ts";
import { openPostgresStoreAs } from "../../src/storage/store/postgres/store.ts";

export type WorkersOrder = {
  readonly connectionString: string;
  readonly schema?: string | undefined;
  readonly maxConnections?: number | undefined;
  /** The host that it pretends to run on; its own when unset. */
  readonly host?: string | undefined;
  readonly name: string;
  readonly places: number;
  /** The address of the provider. */
  readonly address: string;
  /** The file in which tools leave a trace in the world outside. */
  readonly log: string;
  /** How long a tool takes. */
  readonly toolMs: number;
  /** Tokens that each lead may spend, with all below it; no share of its own when unset. */
  readonly share?: number | undefined;
};

/** One line of the log: a tool has run. `token` is in its result, so a journal says which of two runs it is of. */
export type ToolTrace = { name: string; runId: string; callId: string; token: string };

/** The definitions of all levels, as every process has them. */
export function agentsOf({ log, toolMs, share }: Pick<WorkersOrder, "log" | "toolMs" | "share">) {
  const trace =
    (name: string) =>
    async (_input: unknown, { runId, callId }: ToolContext) => {
      const firstMs = toolMs * Math.random();
      await pause(firstMs);
      const token = randomBytes(6).toString("hex");
      appendFileSync(log, `${JSON.stringify({ name, runId, callId, token } satisfies ToolTrace)}\n`);
      await pause(toolMs - firstMs);
      return `${name} done ${token}`;
    };
  const inputSchema = { type: "object" } as const;
  const tools = [
    tool({ name: "look", description: "Looks.", effect: "read", inputSchema, execute: trace("look") }),
    tool({ name: "note", description: "Notes.", effect: "idempotent", inputSchema, execute: trace("note") }),
    tool({ name: "pay", description: "Pays.", effect: "unsafe", inputSchema, execute: trace("pay") }),
  ];
  const shared = { model: "openai-compatible/fake", tools, place: "worker" as const };
  const scout = agent({ name: "scout", description: "Scouts.", ...shared });
  const budget = share === undefined ? undefined : { tokens: share };
  const lead = agent({ name: "lead", description: "Leads.", ...shared, subagents: [scout], budget });
  const root = agent({ name: "root", ...shared, subagents: [lead, scout] });
  return { root, all: [root, lead, scout] };
}

/** Nothing here holds a child back: what is measured is the way to the workers. */
export const WIDE = { limits: { maxConcurrent: 100_000 }, maxConcurrentCalls: 100_000 };

async function work(order: WorkersOrder, lines: AsyncIterator<string>): Promise<void> {
  const { connectionString, schema, maxConnections, host, name, places, address } = order;
  const options = { connectionString, schema, maxConnections };
  await using store = await openPostgresStoreAs(newOwner(host), options);
  const { all: agents } = agentsOf(order);
  const environment = { OPENAI_COMPATIBLE_BASE_URL: address };
  const runtime = createRuntime({ ...WIDE, store, engine: storeEngine(store), agents, host: { environment } });
  const worker = await runtime.work({
    name,
    places,
    onRun: ({ runId, state, error }) => say(`${state} ${runId}${error === undefined ? "" : ` ${String(error)}`}`),
  });
  say("works");
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    if (line.value !== "stop") continue;
    await worker.stop();
    say("stopped");
    return;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** At once: what is said before a death is heard. */
function say(line: string): void {
  writeSync(1, `${line.replaceAll("\n", " ")}\n`);
}

async function main(): Promise<void> {
  say("ready");
  const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
  const { value, done } = await lines.next();
  if (done !== true) await work(JSON.parse(String(value)) as WorkersOrder, lines);
  process.exit();
}

if (process.argv[1]?.includes("workers-process") === true) await main();
