/** R1 with crashes: random trees under random faults whose processes die at random commits, and others that go on. */

import { createRuntime } from "../../src/runtime.ts";
import { type CrashSchedule, type CreateResumable, runCrashSchedule } from "./crash-schedule.ts";
import { faultPlan } from "./r1-schedules.ts";

export type CrashFigure = {
  seed: number;
  schedules: number;
  /** Schedules in which anything was wrong, with what it was. */
  broken: Pick<CrashSchedule, "seed" | "problems">[];
  hangs: number;
  /** Processes that died. */
  crashes: number;
  /** Runs that went on in another process. */
  resumedRuns: number;
  events: number;
  faults: number;
  milliseconds: number;
};

/** Runs the schedules of the seeds `seed`, `seed + 1`, … */
export async function runCrashSchedules(given: {
  seed: number;
  count: number;
  createRuntime?: CreateResumable;
}): Promise<CrashFigure> {
  const startedAt = performance.now();
  const figure: CrashFigure = {
    seed: given.seed,
    schedules: given.count,
    broken: [],
    hangs: 0,
    crashes: 0,
    resumedRuns: 0,
    events: 0,
    faults: 0,
    milliseconds: 0,
  };
  const stray: string[] = [];
  const onStray = (reason: unknown) => void stray.push(`Unhandled: ${reason instanceof Error ? reason.stack : reason}`);
  process.on("unhandledRejection", onStray);
  try {
    for (let seed = given.seed; seed < given.seed + given.count; seed++) {
      const schedule = await runCrashSchedule(seed, faultPlan, given.createRuntime ?? createRuntime);
      const problems = [...schedule.problems, ...stray.splice(0)];
      if (problems.length > 0) figure.broken.push({ seed, problems });
      if (schedule.hung) figure.hangs += 1;
      figure.crashes += schedule.crashes;
      figure.resumedRuns += schedule.events.filter(({ type }) => type === "resume").length;
      figure.events += schedule.events.length;
      figure.faults += schedule.faults;
    }
  } finally {
    process.off("unhandledRejection", onStray);
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}
