/** R6: deep and wide trees under small limits, with failures and cancels: none of them may wait for itself. */

import type { Random } from "../../src/core/clock.ts";
import type { SousEvent } from "../../src/core/event.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import { createRuntime } from "../../src/runtime.ts";
import { type Answer, beginsCall, calls, cuts, fails, says, thinksUnseen } from "../../src/testing/steps.ts";
import { between, chance, pick, type World } from "../../src/testing/world.ts";
import { type CreateRuntime, type Plan, runSchedule, type Schedule } from "./one-schedule.ts";

export type DeadlockFigure = {
  seed: number;
  trees: number;
  deadlocks: number;
  broken: Pick<Schedule, "seed" | "problems">[];
  runs: number;
  /** Tokens that trees spent beyond their budget. */
  overspent: number;
  /** Trees in which a run of depth 8 started. */
  reachedBottom: number;
  milliseconds: number;
};

const DEPTH = 8;
const WIDTH = 3;
const LIMITS = [1, 2, 4, 16] as const;
/** A full tree of this depth and width has 9,841 runs; a seed grows a part of it that always reaches the bottom. */
const MOST_CHILDREN = 24;

/** Runs the trees of the seeds `seed`, `seed + 1`, …; the limits take turns. */
export async function runDeadlockSearch(given: {
  seed: number;
  count: number;
  createRuntime?: CreateRuntime;
}): Promise<DeadlockFigure> {
  const startedAt = performance.now();
  const figure: DeadlockFigure = {
    seed: given.seed,
    trees: given.count,
    deadlocks: 0,
    broken: [],
    runs: 0,
    overspent: 0,
    reachedBottom: 0,
    milliseconds: 0,
  };
  for (let seed = given.seed; seed < given.seed + given.count; seed++) {
    const { hung, problems, events } = await runSchedule(seed, deepPlan, given.createRuntime ?? createRuntime);
    if (hung) figure.deadlocks += 1;
    if (problems.length > 0) figure.broken.push({ seed, problems });
    const starts = events.filter(({ type }) => type === "run-start");
    figure.runs += starts.length;
    figure.overspent += overspentIn(events);
    if (starts.some(({ depth }) => depth === DEPTH)) figure.reachedBottom += 1;
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** Without what the script says beyond the cap it was given: a provider would have cut it. */
function overspentIn(events: readonly SousEvent[]): number {
  const [start] = events;
  const limit = start?.type === "run-start" ? start.budget?.tokens : undefined;
  if (limit === undefined) return 0;
  const reserved = new Map<string, number>();
  let spent = 0;
  for (const event of events) {
    if (event.type === "turn-start") reserved.set(event.runId, event.reserved);
    if (event.type === "run-end") spent += event.usage.totalTokens;
    if (event.type === "message-end")
      spent -= Math.max(0, event.usage.totalTokens - (reserved.get(event.runId) ?? Number.POSITIVE_INFINITY));
  }
  return Math.max(0, spent - limit);
}

function deepPlan(world: World): Plan {
  const random = world.random("plan");
  const slots = LIMITS[world.seed & 3] ?? 1;
  const callsAtOnce = LIMITS[(world.seed >> 2) & 3] ?? 1;
  const hasFailures = chance(random, 0.7);
  return {
    rates: {},
    answer: deepAnswers(world, hasFailures ? 0.08 : 0),
    runtime: {
      maxConcurrentCalls: callsAtOnce,
      limits: { maxDepth: DEPTH, maxConcurrent: slots, summary: "never", defaultMaxTurns: 4 },
    },
    run: chance(random, 0.5)
      ? { budget: { tokens: between(random, 3_000, 150_000) }, onExhausted: pick(random, ["stop", "wrap-up"]) }
      : {},
    stop: new AbortController(),
    disturb(handle, events) {
      const cancels = chance(random, 0.4) ? between(random, 1, 3) : 0;
      for (let index = 0; index < cancels; index++) {
        world.clock.ownTimer(between(random, 0, 4_000), () => {
          const paths = [...new Set(events.map(({ path }) => path))];
          handle.cancel(paths[Math.floor(random() * paths.length)] ?? "lead", {
            mode: pick(random, ["stop", "wrap-up", "last-words"]),
          });
        });
      }
    },
  };
}

const FAILURES: readonly [Answer, ...Answer[]] = [
  fails("invalid_request"),
  fails("overloaded"),
  fails("network"),
  [says("Half of".repeat(100)), cuts()],
  [beginsCall("subagent", '{"task_prompt":"'.padEnd(2_000, "x")), cuts()],
  [thinksUnseen(), cuts()],
];

/** Every agent delegates once or twice and then answers; the first child of each goes down to the bottom. */
function deepAnswers(world: World, failures: number): (request: ModelRequest) => Answer {
  const random = world.random("answers");
  const turns = new Map<string, number>();
  let childrenLeft = MOST_CHILDREN;
  return ({ caller: { runId, depth, path } }) => {
    const turn = turns.get(runId) ?? 0;
    turns.set(runId, turn + 1);
    if (chance(random, failures)) return pick(random, FAILURES);
    const isOnWayDown = !path.includes("side");
    // The way down comes first: others may have what it does not need.
    const kept = isOnWayDown && turn === 0 ? Math.max(0, DEPTH - depth - 1) : DEPTH;
    const mayTake = childrenLeft - kept;
    const wants = turn === 0 ? isOnWayDown || chance(random, 0.6) : chance(random, 0.2);
    if (depth >= DEPTH || mayTake <= 0 || !wants) return says("Done.");
    const width = Math.min(between(random, 1, WIDTH), mayTake);
    childrenLeft -= width;
    return delegation(random, width, turn === 0 && isOnWayDown);
  };
}

function delegation(random: Random, width: number, goesDown: boolean): Answer {
  const task = (index: number) => ({
    label: goesDown && index === 0 ? "down" : "side",
    task_prompt: `Part ${between(random, 1, 1_000_000)}`,
    ...(chance(random, 0.1) ? { timeout_ms: between(random, 1, 3_000) } : {}),
  });
  if (width === 1 || chance(random, 0.2)) {
    // Several plain calls in one answer run side by side as well.
    return Array.from({ length: width }, (_, index) =>
      calls("subagent", { ...task(index), ...(chance(random, 0.3) ? { background: true } : {}) }),
    );
  }
  return calls("parallel_subagent", {
    tasks: Array.from({ length: width }, (_, index) => task(index)),
    fail_fast: chance(random, 0.4),
    max_concurrent: between(random, 1, WIDTH),
  });
}
