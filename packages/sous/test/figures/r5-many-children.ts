/** R5: what a great many children cost. Measured in a process of its own, so that nothing else is in its memory. */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { agent } from "../../src/core/agent.ts";
import type { Model, ModelAnswer } from "../../src/core/model.ts";
import type { Store } from "../../src/core/store.ts";
import { tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openMemoryStore } from "../../src/storage/store/memory.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";

export type ManyChildrenFigure = {
  waiting: number;
  /** Resident memory over idle while all of them wait for their model. */
  waitingMegabytes: number;
  cancelMilliseconds: number;
  inSequence: number;
  /** Heap that is still held per child after it has ended, when the journal is in a SQLite file. */
  keptBytesPerChild: number;
  /** The same with the journal in memory; absent when it is not asked for. */
  keptBytesInMemory?: number;
};

/** Runs both parts in a fresh process. */
export async function measureManyChildren(
  waiting: number,
  inSequence: number,
  { withMemory = true } = {},
): Promise<ManyChildrenFigure> {
  const parameters = [
    "--expose-gc",
    "--conditions=sous-source",
    import.meta.filename,
    String(waiting),
    String(inSequence),
    String(Number(withMemory)),
  ];
  const environment = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { env: environment });
  return JSON.parse(stdout) as ManyChildrenFigure;
}

const usage = {
  inputTokens: 10,
  outputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 20,
  estimated: false,
};

function says(text: string): ModelAnswer {
  return { message: { role: "assistant", content: [{ type: "text", text }] }, finish: "stop", usage };
}

/** All children are asked at once and none is answered; then the tree is cancelled. */
async function measureWaiting(
  count: number,
  store: Store,
): Promise<Pick<ManyChildrenFigure, "waitingMegabytes" | "cancelMilliseconds">> {
  let asked = 0;
  const everybodyWaits = Promise.withResolvers<void>();
  const holds: Model = {
    id: "fake/holds",
    answer({ signal }) {
      asked += 1;
      if (asked === count) everybodyWaits.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  };
  const child = agent({ name: "child", model: holds });
  const calls = Array.from({ length: count }, (_, index) => ({
    type: "tool-call" as const,
    callId: `call_${index}`,
    toolName: "subagent_child",
    input: { task: `Task ${index}` },
  }));
  const lead: Model = {
    id: "fake/lead",
    answer: async () => ({ message: { role: "assistant", content: calls }, finish: "tool-calls", usage }),
  };
  const runtime = createRuntime({ store, maxConcurrentCalls: count, limits: { maxConcurrent: count } });
  collect();
  const idle = process.memoryUsage.rss();
  const handle = runtime.run(agent({ name: "lead", model: lead, subagents: [child] }), "Go");
  await everybodyWaits.promise;
  collect();
  const waitingMegabytes = (process.memoryUsage.rss() - idle) / 2 ** 20;
  const startedAt = performance.now();
  handle.cancel();
  const { status, agents } = await handle;
  const cancelMilliseconds = performance.now() - startedAt;
  if (status !== "cancelled" || agents.length !== count + 1)
    throw new Error(`${agents.length} agents ended as ${status}`);
  return { waitingMegabytes, cancelMilliseconds };
}

/** One child after another, each of one turn, started by one tool call so that the parent itself adds nothing. */
async function measureSequence(count: number, store: Store): Promise<number> {
  const child = agent({ name: "child", model: { id: "fake/child", answer: async () => says("Done.") } });
  let heapBefore = 0;
  let heapAfter = 0;
  const many = tool({
    name: "subagent_many",
    description: "Starts a great many children.",
    category: "subagent",
    inputSchema: { type: "object" },
    async execute(_input, context) {
      for (let started = 0; started < WARM_UP + count; started++) {
        if (started === WARM_UP) heapBefore = heap();
        const reply = await context.spawn({ label: "child", task: `Task ${started}`, agent: child });
        if (reply.kind !== "ended" || reply.report.text !== "Done.")
          throw new Error(`Child ${started} was ${reply.kind}`);
      }
      heapAfter = heap();
      return "done";
    },
  });
  const call = { type: "tool-call" as const, callId: "call_1", toolName: "subagent_many", input: {} };
  let turn = 0;
  const lead: Model = {
    id: "fake/lead",
    async answer() {
      turn += 1;
      if (turn > 1) return says("All done.");
      return { message: { role: "assistant", content: [call] }, finish: "tool-calls", usage };
    },
  };
  const { agents } = await createRuntime({ store }).run(agent({ name: "lead", model: lead, tools: [many] }), "Go");
  if (agents.length !== WARM_UP + count + 1) throw new Error(`${agents.length} agents`);
  return Math.round((heapAfter - heapBefore) / count);
}

const WARM_UP = 1000;

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

function collect(): void {
  globalThis.gc?.();
  globalThis.gc?.();
}

if (process.argv[1] === import.meta.filename) {
  const [waiting = 0, inSequence = 0, withMemory = 0] = process.argv.slice(2).map(Number);
  const folder = mkdtempSync(join(tmpdir(), "sous-r5-"));
  try {
    await using store = await openSqliteStore(join(folder, "runs.db"));
    const figure: ManyChildrenFigure = {
      waiting,
      ...(await measureWaiting(waiting, store)),
      inSequence,
      keptBytesPerChild: await measureSequence(inSequence, store),
      ...(withMemory === 1 && { keptBytesInMemory: await measureSequence(inSequence, openMemoryStore()) }),
    };
    process.stdout.write(JSON.stringify(figure));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
