/** W1 to W4: what an adapter is made to do, what must have happened afterwards, and what is measured. */

import { setTimeout as pause } from "node:timers/promises";
import { counters, hooks, resetCounters, setToolResultBytes, waiting } from "../mock/brain.mjs";
import { median, undisturbed } from "./statistics.mjs";

/** Each takes an adapter and the settings of the mode, and resolves with its figures. */
export const workloads = {
  W1: measureTurns,
  "W1-iterator": measureTurnsByIterator,
  W2: measureDelegation,
  "W3-200": measureFanOut,
  "W3-heap": measureLiveHeap,
  "W3-1000": measureLargeFanOut,
  "W3-10000": measureHugeFanOut,
  W4: measureGrowth,
  "W4-long": measureLongGrowth,
  W10: measureRoot,
};

/** Microseconds for a turn with one tool call and one delta, and for every further delta. */
async function measureTurns({ single }, settings) {
  const { turns, deltas, warmUpMilliseconds, measureMilliseconds } = settings;
  const answers = turns + 1;
  const run = (deltas) => () => timed(() => single({ turns, deltas }), expectedAlone(turns, deltas));
  // As long with one delta as with many: neither of them is measured colder than the other.
  const [many, one] = await timesOf([run(deltas), run(1)], warmUpMilliseconds, measureMilliseconds);
  const perDelta = (time) => ((many[time] - one[time]) * 1000) / (answers * (deltas - 1));
  return {
    turn: (one.cpu * 1000) / answers,
    turnWall: (one.wall * 1000) / answers,
    delta: perDelta("cpu"),
    deltaWall: perDelta("wall"),
  };
}

async function measureTurnsByIterator({ singleByIterator }, settings) {
  const { delta } = await measureTurns({ single: singleByIterator }, settings);
  return { iteratorDelta: delta };
}

/** Microseconds for a run of one answer: what a start and an end cost. */
async function measureRoot({ single }, { warmUpMilliseconds, measureMilliseconds }) {
  const runs = 50;
  const runAll = async () => {
    for (let done = 0; done < runs; done++) await single({ turns: 0, deltas: 1 });
  };
  const run = () => timed(runAll, { modelCalls: runs, deltas: runs });
  const [{ cpu, wall }] = await timesOf([run], warmUpMilliseconds, measureMilliseconds);
  return { root: (cpu * 1000) / runs, rootWall: (wall * 1000) / runs };
}

/** Microseconds for one delegation: a child of three turns, and the parent's own turn. */
async function measureDelegation({ delegate }, { delegations, warmUpMilliseconds, measureMilliseconds }) {
  const load = { turns: delegations, fan: 1, childTurns: 3, deltas: 10, latency: 0 };
  const run = () => timed(() => delegate(load), expectedOfTree(load));
  const [{ cpu, wall }] = await timesOf([run], warmUpMilliseconds, measureMilliseconds);
  return { delegation: (cpu * 1000) / delegations, delegationWall: (wall * 1000) / delegations };
}

/** Milliseconds until all children of one turn have made five turns each, on a model that takes 20 ms to answer. */
async function measureFanOut(adapter, settings) {
  const { first, warm, childrenAtOnce } = await fanOut(adapter, settings.children, settings);
  return { firstWall: first, wall: warm, childrenAtOnce };
}

async function measureLargeFanOut(adapter, settings) {
  const { first, warm, childrenAtOnce, residentKilobytes } = await fanOut(adapter, settings.manyChildren, settings);
  const resident = residentKilobytes / settings.manyChildren;
  return { firstLargeWall: first, largeWall: warm, childrenAtOnce, resident };
}

/** Microseconds of the main thread for each child, of many more than anyone runs at once. */
async function measureHugeFanOut({ delegate }, { hugeChildren, manyChildren, hugeRepetitions }) {
  const costOf = async (children) => {
    const load = fanOutLoad(children);
    // As many children for both: neither of them is measured colder than the other.
    const repetitions = Math.ceil((hugeRepetitions * hugeChildren) / children);
    const before = cpuMilliseconds();
    for (let done = 0; done < repetitions; done++) await timed(() => delegate(load), expectedOfTree(load));
    return ((cpuMilliseconds() - before) * 1000) / children / repetitions;
  };
  await costOf(manyChildren);
  const many = await costOf(manyChildren);
  const huge = await costOf(hugeChildren);
  return { hugeChild: huge, hugeToMany: huge / many };
}

/** Kilobytes of heap per child, after a garbage collection while all of them wait in their closing call. */
async function measureLiveHeap({ delegate }, { children }) {
  await warmUpFanOut(delegate);
  globalThis.gc();
  await pause(50);
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;

  let parked = 0;
  let heap;
  const everyoneParked = Promise.withResolvers();
  const deadline = setTimeout(() => {
    everyoneParked.reject(new Error(`Only ${parked} of ${children} children were alive at once`));
  }, 20_000);
  hooks.beforeChildCloses = async () => {
    if (++parked === children) {
      await pause(30);
      globalThis.gc();
      heap = (process.memoryUsage().heapUsed - before) / 1024 / children;
      clearTimeout(deadline);
      everyoneParked.resolve();
    }
    await everyoneParked.promise;
  };
  const load = fanOutLoad(children);
  await timed(() => delegate(load), expectedOfTree(load));
  return { heap };
}

/** How much longer a turn takes after 400 turns of 2 KB results than after 10. */
async function measureGrowth({ single }, { growthTurns, growthWarmUpMilliseconds, growthRepetitions }) {
  setToolResultBytes(2048);
  let calledAt = [];
  hooks.onModelCall = () => calledAt.push(performance.now());
  const run = (turns) => {
    calledAt = [];
    return timed(() => single({ turns, deltas: 10 }), expectedAlone(turns, 10));
  };
  const early = [];
  const late = [];
  await repeat(growthWarmUpMilliseconds, 4, () => run(60));
  // The slowest peers need seconds for one conversation: three of them are enough to see it.
  const stopAt = performance.now() + 10_000;
  for (let done = 0; done < growthRepetitions && (done < 3 || performance.now() < stopAt); done++) {
    await run(growthTurns);
    const turnTimes = calledAt.slice(1).map((time, index) => time - calledAt[index]);
    early.push(median(turnTimes.slice(5, 15)));
    late.push(median(turnTimes.slice(growthTurns - 10, growthTurns)));
  }
  const [earlyTurn, lateTurn] = [median(early) * 1000, median(late) * 1000];
  return { growth: lateTurn / earlyTurn, earlyTurn, lateTurn };
}

/** The same after 2,000 turns, for those that do not need minutes for it. */
async function measureLongGrowth(adapter, settings) {
  const { growth } = await measureGrowth(adapter, { ...settings, growthTurns: settings.longGrowthTurns });
  return { longGrowth: growth };
}

/** The first fan-out of a process, which runs code that was hardly run before, and then those of a process that is warm. */
async function fanOut({ delegate }, children, { warmUpMilliseconds, measureMilliseconds }) {
  const load = fanOutLoad(children);
  const run = () => timed(() => delegate(load), expectedOfTree(load));
  await warmUpFanOut(delegate);
  const before = process.memoryUsage.rss();
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  waiting.most = 0;
  const first = await run();
  clearInterval(sampler);
  const childrenAtOnce = waiting.most;
  peak = Math.max(peak, process.resourceUsage().maxRSS * 1024);

  const times = [];
  await repeat(warmUpMilliseconds, 1, run);
  await repeat(measureMilliseconds, 3, async () => times.push(await run()));
  return { first, warm: undisturbed(times), childrenAtOnce, residentKilobytes: (peak - before) / 1024 };
}

async function warmUpFanOut(delegate) {
  const load = { ...fanOutLoad(20), latency: 1 };
  await timed(() => delegate(load), expectedOfTree(load));
}

function fanOutLoad(children) {
  return { turns: 1, fan: children, childTurns: 5, deltas: 10, latency: 20 };
}

function expectedAlone(turns, deltas) {
  return { modelCalls: turns + 1, toolCalls: turns, resultsSeen: turns, deltas: (turns + 1) * deltas };
}

function expectedOfTree({ turns, fan, childTurns }) {
  const children = turns * fan;
  return {
    modelCalls: turns + 1 + children * (childTurns + 1),
    toolCalls: children * childTurns,
    resultsSeen: children,
  };
}

/** Milliseconds `work` takes. Throws when the counters say that it did something else than it should have. */
async function timed(work, expected) {
  resetCounters();
  const started = performance.now();
  await work();
  const milliseconds = performance.now() - started;
  for (const [name, count] of Object.entries(expected)) {
    if (counters[name] !== count) throw new Error(`Expected ${count} as ${name}, counted ${counters[name]}`);
  }
  return milliseconds;
}

/** The clock of the CPU moves in steps of up to 10 ms, so it is read around this many milliseconds of work. */
const BLOCK_MILLISECONDS = 50;

/**
 * Of each kind of run the milliseconds it takes, and those in which the main thread worked for it: others on the machine change
 * the first more than the second. The kinds take turns, block by block.
 */
async function timesOf(runs, warmUpMilliseconds, measureMilliseconds) {
  const kinds = runs.map((run) => ({ run, walls: [], cpu: 0 }));
  const block = async (kind) => {
    const before = cpuMilliseconds();
    await repeat(BLOCK_MILLISECONDS, 1, async () => kind.walls.push(await kind.run()));
    kind.cpu += cpuMilliseconds() - before;
  };
  const measure = (milliseconds) =>
    repeat(milliseconds, 2, async () => {
      for (const kind of kinds) await block(kind);
    });
  await measure(warmUpMilliseconds);
  for (const kind of kinds) Object.assign(kind, { walls: [], cpu: 0 });
  await measure(measureMilliseconds);
  return kinds.map(({ walls, cpu }) => ({ wall: undisturbed(walls), cpu: cpu / walls.length }));
}

function cpuMilliseconds() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The same time for everyone, so that nobody is measured colder than the others. */
async function repeat(milliseconds, atLeast, work) {
  const started = performance.now();
  for (let done = 0; done < atLeast || performance.now() - started < milliseconds; done++) await work();
}
