/**
 * Counts that no load of the machine changes: promises, jobs and abort signals that a turn, a delta, a delegation, a child and
 * a root take, functions and heap of a live child, and the part of what is allocated that survives young collections. Each
 * count is the difference of two lengths of the same run, so that what happens once in a run does not count.
 */

import { setTimeout as pause } from "node:timers/promises";
import { GCProfiler, promiseHooks, queryObjects } from "node:v8";
import { hooks } from "../mock/brain.mjs";

/** By name: a load of `factor` times its length, and how many of the thing it has more than half of it. */
const LOADS = {
  turn: { per: 50, run: ({ single }, factor) => single({ turns: 50 * factor, deltas: 1 }) },
  delta: { per: 11 * 200, run: ({ single }, factor) => single({ turns: 10, deltas: 200 * factor }) },
  delegation: { per: 20, run: ({ delegate }, factor) => delegate({ ...TREE, turns: 20 * factor, fan: 1, childTurns: 3 }) },
  child: { per: 100, run: ({ delegate }, factor) => delegate({ ...TREE, turns: 1, fan: 100 * factor, latency: 1 }) },
  root: { per: 50, run: ({ single }, factor) => repeat(50 * factor, () => single({ turns: 0, deltas: 1 })) },
};

const TREE = { childTurns: 5, deltas: 10, latency: 0 };

/** Promises made, promise jobs run and abort signals made, for each of the loads. */
export async function countWork(adapter) {
  const figures = {};
  for (const [name, { per, run }] of Object.entries(LOADS)) {
    // What is made once in a process, such as the schema of a tool.
    await run(adapter, 1);
    const [one, two] = [await counted(() => run(adapter, 1)), await counted(() => run(adapter, 2))];
    figures[name] = Object.fromEntries(Object.keys(one).map((each) => [each, (two[each] - one[each]) / per]));
  }
  return figures;
}

async function counted(work) {
  const counts = { promises: 0, jobs: 0, signals: 0 };
  const stops = [
    promiseHooks.onInit(() => {
      counts.promises += 1;
    }),
    promiseHooks.onBefore(() => {
      counts.jobs += 1;
    }),
    onSignal(() => {
      counts.signals += 1;
    }),
  ];
  await work();
  for (const stop of stops) stop();
  return counts;
}

/** Calls `seen` for each abort signal that is made: by a controller, or from others. */
function onSignal(seen) {
  const { AbortController: Controller } = globalThis;
  const { any, timeout } = AbortSignal;
  globalThis.AbortController = class AbortController extends Controller {
    constructor() {
      super();
      seen();
    }
  };
  AbortSignal.any = (signals) => {
    seen();
    return any.call(AbortSignal, signals);
  };
  AbortSignal.timeout = (milliseconds) => {
    seen();
    return timeout.call(AbortSignal, milliseconds);
  };
  return () => {
    globalThis.AbortController = Controller;
    Object.assign(AbortSignal, { any, timeout });
  };
}

/** Functions and kilobytes of heap of a child that waits in its last call. Needs `--expose-gc`. */
export async function measureLiveChild({ delegate }) {
  const parked = async (children) => {
    let waiting = 0;
    let found;
    const everyoneWaits = Promise.withResolvers();
    hooks.beforeChildCloses = async () => {
      if (++waiting === children) {
        await pause(30);
        globalThis.gc();
        found = { functions: queryObjects(Function), heap: process.memoryUsage().heapUsed / 1024 };
        everyoneWaits.resolve();
      }
      await everyoneWaits.promise;
    };
    await delegate({ ...TREE, turns: 1, fan: children, latency: 1 });
    return found;
  };
  // What is made once, and code that is compiled when it has run often.
  for (let run = 0; run < 4; run++) await parked(200);
  const [few, many] = [await parked(100), await parked(300)];
  hooks.beforeChildCloses = undefined;
  return { functions: (many.functions - few.functions) / 200, heapKilobytes: (many.heap - few.heap) / 200 };
}

const RUNS = 600;
const RUNS_TO_WARM_UP = 200;

/** Bytes that survive a young collection, of those allocated. Needs `--expose-gc` and a young generation of a fixed size. */
export async function measureSurvivors({ single }) {
  const run = () => single({ turns: 50, deltas: 1 });
  await repeat(RUNS_TO_WARM_UP, run);
  globalThis.gc();
  const profiler = new GCProfiler();
  let before = process.memoryUsage().heapUsed;
  profiler.start();
  await repeat(RUNS, run);
  const { statistics } = profiler.stop();
  let allocated = 0;
  let survived = 0;
  for (const { gcType, beforeGC, afterGC } of statistics) {
    const [used, left] = [beforeGC, afterGC].map(({ heapStatistics }) => heapStatistics.usedHeapSize);
    if (gcType === "Scavenge") {
      allocated += used - before;
      survived += left - before;
    }
    before = left;
  }
  return { survivors: survived / allocated, bytesPerTurn: allocated / (RUNS * 51) };
}

async function repeat(times, work) {
  for (let done = 0; done < times; done++) await work();
}
