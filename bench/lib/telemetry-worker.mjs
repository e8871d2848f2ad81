/**
 * W9 in a process of its own: `node telemetry-worker.mjs <settings>`. One agent makes turns with a tool call each, with
 * traces, metrics and logs, and without, in turns; with its SQLite store, as the command runs it, and in memory.
 */

import { mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createLifecycleLog } from "../../packages/sous/dist/embed.js";
import { agent, run } from "../../packages/sous/dist/index.js";
import { runIdGenerator, traceRuns } from "../../packages/sous/dist/otel.js";
import { openSqliteStore } from "../../packages/sous/dist/sqlite.js";
// The command line has these alone: no door leads to them.
import { measureRuns } from "../../packages/sous/src/bridges/telemetry/metrics.ts";
import { createRegistry } from "../../packages/sous/src/bridges/telemetry/registry.ts";
import { counters, resetCounters, workerPlan } from "../mock/brain.mjs";
import { createOwnModel } from "../peers/sous/own-model.mjs";
import { reading } from "../peers/sous/tree.mjs";
import { SILENT, WATCHED } from "./pairs.mjs";
import { rotated } from "./rounds.mjs";
import { undisturbed } from "./statistics.mjs";

const { telemetryRounds, telemetryMilliseconds, turns, deltas } = JSON.parse(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "bench-telemetry-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const exported = { spans: 0 };
const watching = watchEverything();
const store = await openSqliteStore(join(folder, "runs.db"));
const measured = [
  ...(await measureSides("watchedTurn", { store, deltas })),
  ...(await measureSides("watchedSmallTurn", { store, deltas: 1 })),
  ...(await measureSides("watchedTurnInMemory", { store: undefined, deltas: 1 })),
];
process.stdout.write(`\nFIGURES ${JSON.stringify(measured)}\n`, () => process.exit(0));

/** Microseconds for a turn of both sides. */
async function measureSides(figure, load) {
  const sides = [
    { column: SILENT, listen: undefined },
    { column: WATCHED, listen: watching.onEvent },
  ];
  const measured = [];
  // Round 0 only warms up, as long as all others together.
  for (let round = 0; round <= telemetryRounds; round++) {
    for (const { column, listen } of rotated(sides, round)) {
      const longest = telemetryMilliseconds * (round === 0 ? 4 : 1);
      const times = [];
      const started = performance.now();
      while (times.length < 2 || performance.now() - started < longest) times.push(await timedRun(load, listen));
      const figures = { [figure]: (undisturbed(times) * 1000) / (turns + 1) };
      if (round > 0) measured.push({ column, round, figures });
    }
  }
  await watching.flush();
  if (exported.spans === 0) throw new Error("No span was exported");
  return measured;
}

async function timedRun({ store, deltas }, listen) {
  resetCounters();
  const definition = agent({
    name: "agent",
    model: createOwnModel(workerPlan({ turns, deltas })),
    tools: [reading],
    maxTurns: 1000,
  });
  const onEvent = (event) => {
    if (event.type === "text-delta") counters.deltas++;
    listen?.(event);
  };
  const started = performance.now();
  await run(definition, "go", { onEvent, store });
  const milliseconds = performance.now() - started;
  const { modelCalls, deltas: heard } = counters;
  if (modelCalls !== turns + 1 || heard !== (turns + 1) * deltas)
    throw new Error(`${modelCalls} answers in ${heard} pieces`);
  return milliseconds;
}

/** All sinks. Spans go to an exporter that only counts them: what a collector does with them is no work of this process. */
function watchEverything() {
  const exporter = {
    export(spans, done) {
      exported.spans += spans.length;
      done({ code: 0 });
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const spanProcessors = [new BatchSpanProcessor({ exporter })];
  const tracerProvider = new TracerProvider({ idGenerator: runIdGenerator(), spanProcessors });
  const file = openSync(join(folder, "log.jsonl"), "w");
  const log = createLifecycleLog({ write: (line) => writeSync(file, `${line}\n`) });
  const listeners = [traceRuns({ tracerProvider }), measureRuns(createRegistry()), log.onEvent];
  return {
    onEvent(event) {
      for (const listener of listeners) listener(event);
    },
    flush: () => tracerProvider.forceFlush(),
  };
}
