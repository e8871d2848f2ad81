/**
 * A process that runs or resumes a tree on a real database until it is killed. It says `ready` when its code is loaded,
 * waits for its order on stdin, and then says what it was shown: `e` and a number for each event, `r` and the result.
 */

import { appendFileSync, writeSync } from "node:fs";
import { agent } from "../../src/core/agent.ts";
import type { SousEvent } from "../../src/core/event.ts";
import { type ToolContext, tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";

export type WorkOrder = {
  file: string;
  /** Where tools leave a trace in the world outside. */
  log: string;
  address: string;
  /** The run to go on with; a new one when unset. */
  runId?: string | undefined;
  /** The process kills itself right behind this line of its log. */
  diesAtLine?: number | undefined;
  /** For this process it is later by so much: leases of others are over sooner. */
  clockAheadMs?: number | undefined;
};

process.stdin.once("data", (data: Buffer) => {
  if (data.length > 0) void work(JSON.parse(data.toString()) as WorkOrder);
});
process.stdin.on("end", () => process.exit());
say("ready");

async function work(order: WorkOrder): Promise<void> {
  try {
    const ahead = order.clockAheadMs ?? 0;
    const timer = (milliseconds: number, callback: () => void) => {
      const waiting = setTimeout(callback, milliseconds).unref();
      return { [Symbol.dispose]: () => clearTimeout(waiting) };
    };
    await using store = await openSqliteStore(order.file, { clock: { now: () => Date.now() + ahead, timer } });
    const environment = { OPENAI_COMPATIBLE_BASE_URL: order.address };
    const runtime = createRuntime({ store, requireStore: true, host: { environment } });
    const lead = agent({ name: "lead", model: "openai-compatible/fake", tools: toolsFor(order), delegate: true });
    const onEvent = (event: SousEvent) => {
      if (event.seq !== undefined) say(`e ${event.seq}`);
    };
    const handle =
      order.runId === undefined
        ? runtime.run(lead, "Lead them.", { onEvent, budget: { tokens: 50_000_000, executions: 50 } })
        : runtime.resume(order.runId, { agent: lead, onEvent });
    const { status, text, usage, lost } = await handle;
    say(`r ${JSON.stringify({ status, text, usage, lost })}`);
  } catch (error) {
    say(`x ${JSON.stringify(String((error as Error).stack))}`);
  }
  process.stdin.destroy();
}

/** One tool of each effect. */
function toolsFor({ log, diesAtLine }: WorkOrder) {
  let lines = 0;
  const trace =
    (name: string) =>
    async (_input: unknown, { runId, callId }: ToolContext) => {
      // Half of them act at once.
      if (Math.random() < 0.5) await pause();
      appendFileSync(log, `${JSON.stringify({ name, runId, callId, pid: process.pid })}\n`);
      lines += 1;
      if (lines === diesAtLine) process.kill(process.pid, "SIGKILL");
      await pause();
      return `${name} done`;
    };
  const inputSchema = { type: "object" } as const;
  return [
    tool({ name: "look", description: "Looks.", effect: "read", inputSchema, execute: trace("look") }),
    tool({ name: "note", description: "Notes.", effect: "idempotent", inputSchema, execute: trace("note") }),
    tool({ name: "pay", description: "Pays.", effect: "unsafe", inputSchema, execute: trace("pay") }),
  ];
}

/** A tool takes its time, so that a death can come before, behind and between. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
}

/** At once: what is said before a death is heard. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
