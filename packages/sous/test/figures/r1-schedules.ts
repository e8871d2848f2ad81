/** R1: random trees under random faults, from seeds: nothing lost, nothing twice, nothing out of order, no hang. */

import type { ApprovalAnswer, ApprovalRequest, Approve } from "../../src/core/approval.ts";
import { forever, type Random } from "../../src/core/clock.ts";
import type { StoredEvent } from "../../src/core/event.ts";
import type { Budget } from "../../src/core/limits.ts";
import type { RunHandle } from "../../src/core/runtime.ts";
import { createRuntime } from "../../src/runtime.ts";
import { between, chance, pick, type World } from "../../src/testing/world.ts";
import { type CreateRuntime, type Plan, runSchedule, type Schedule } from "./one-schedule.ts";
import { randomAnswers } from "./random-answers.ts";

export type ScheduleFigure = {
  seed: number;
  schedules: number;
  /** Schedules in which anything was wrong, with what it was. */
  broken: Pick<Schedule, "seed" | "problems">[];
  hangs: number;
  runs: number;
  events: number;
  faults: number;
  /** How the roots ended. */
  endings: Record<string, number>;
  milliseconds: number;
};

/** Runs the schedules of the seeds `seed`, `seed + 1`, … */
export async function runFaultSchedules(given: {
  seed: number;
  count: number;
  createRuntime?: CreateRuntime;
}): Promise<ScheduleFigure> {
  const startedAt = performance.now();
  const figure: ScheduleFigure = {
    seed: given.seed,
    schedules: given.count,
    broken: [],
    hangs: 0,
    runs: 0,
    events: 0,
    faults: 0,
    endings: {},
    milliseconds: 0,
  };
  const stray: string[] = [];
  const onStray = (reason: unknown) => void stray.push(`Unhandled: ${reason instanceof Error ? reason.stack : reason}`);
  process.on("unhandledRejection", onStray);
  try {
    for (let seed = given.seed; seed < given.seed + given.count; seed++) {
      const schedule = await runSchedule(seed, faultPlan, given.createRuntime ?? createRuntime);
      const problems = [...schedule.problems, ...stray.splice(0)];
      if (problems.length > 0) figure.broken.push({ seed, problems });
      if (schedule.hung) figure.hangs += 1;
      figure.runs += schedule.events.filter(({ type }) => type === "run-start").length;
      figure.events += schedule.events.length;
      figure.faults += schedule.faults;
      figure.endings[schedule.status] = (figure.endings[schedule.status] ?? 0) + 1;
    }
  } finally {
    process.off("unhandledRejection", onStray);
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

export function faultPlan(world: World): Plan {
  const random = world.random("plan");
  const isCalm = chance(random, 0.2);
  const rate = (most: number) => (isCalm ? 0 : random() * most);
  const stop = new AbortController();
  const answering = person(world);
  return {
    rates: { store: rate(0.3), tool: rate(0.4), model: rate(0.25) },
    answer: randomAnswers(world, { maxChildren: between(random, 0, 40), maxWork: between(random, 2, 5), width: 4 }),
    runtime: {
      requireStore: chance(random, 0.3),
      approve: chance(random, 0.2) ? undefined : answering.approve,
      maxConcurrentCalls: pick(random, [1, 2, 4, 16]),
      limits: {
        maxDepth: pick(random, [1, 2, 3, 3, 4]),
        maxConcurrent: between(random, 1, 5),
        onFull: chance(random, 0.2) ? "refuse" : "queue",
        summary: pick(random, ["auto", "auto", "always", "never"]),
        outputMaxSize: pick(random, [1024, 4096]),
        defaultMaxTurns: between(random, 1, 8),
        children: chance(random, 0.15) ? randomBudget(random) : {},
      },
    },
    run: {
      budget: chance(random, 0.3) ? randomBudget(random) : undefined,
      onExhausted: pick(random, ["wrap-up", "stop"]),
      onLiveChildren: pick(random, ["wait", "cancel"]),
      conversation: chance(random, 0.15) ? { maxTokens: between(random, 200, 2_000), minRetainTurns: 1 } : undefined,
    },
    stop,
    mayHang: () => answering.isSilent,
    isIterated: chance(random, 0.25),
    followUps: chance(random, 0.2) ? 1 : 0,
    disturb: (handle, events) => disturb(world, random, handle, events, stop),
  };
}

function randomBudget(random: Random): Budget {
  const budget: Budget = {};
  if (chance(random, 0.5)) budget.tokens = between(random, 100, 60_000);
  if (chance(random, 0.3)) budget.durationMs = between(random, 1, 60) * 1000;
  if (chance(random, 0.3)) budget.executions = between(random, 0, 6);
  return budget;
}

/** Answers after a while: yes, no, never, or by breaking. */
function person(world: World): { approve: Approve; isSilent: boolean } {
  const random = world.random("person");
  const self = {
    isSilent: false,
    async approve({ path }: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
      await world.turn(`person, asked by ${path}`);
      const choice = random();
      if (choice < 0.1) {
        self.isSilent = true;
        return forever(signal);
      }
      if (choice < 0.15) throw new Error("The terminal is gone");
      return choice < 0.6 ? { allow: true } : { allow: false, reason: "not now" };
    },
  };
  return self;
}

/** A few things done from outside at random times: stop a run or everything, steer, speak to a child, move the clock. */
function disturb(
  world: World,
  random: Random,
  handle: RunHandle,
  events: readonly StoredEvent[],
  stop: AbortController,
): void {
  const count = chance(random, 0.5) ? between(random, 1, 3) : 0;
  for (let index = 0; index < count; index++) {
    world.clock.ownTimer(chance(random, 0.3) ? 0 : between(random, 1, 8_000), () => {
      const paths = [...new Set(events.map(({ path }) => path))];
      const path = paths[Math.floor(random() * paths.length)] ?? "lead";
      const choice = random();
      if (choice < 0.15) stop.abort(new Error("The caller has left"));
      else if (choice < 0.25) handle.cancel();
      else if (choice < 0.5) handle.cancel(path, { mode: pick(random, ["stop", "wrap-up", "last-words"]) });
      else if (choice < 0.7) handle.steer(path, "Hurry.");
      else if (choice < 0.85) handle.send(path, "And?").catch(() => {});
      else world.clock.jump(between(random, -3_600_000, 3_600_000));
    });
  }
}
