/**
 * R4 across processes: real Node processes race for shared budgets in one SQLite file. Each race has a fresh budget that
 * allows fewer calls than are wanted at once. Some of the processes are killed in the middle.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../../src/core/clock.ts";
import { messageOf } from "../../src/core/errors.ts";
import type { SharedBudget, SharedLimits } from "../../src/core/shared-budget.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { between, chance, pick, seededRandom } from "../../src/testing/world.ts";
import type { Mutation } from "../support/mutation.ts";
import { bundleWorker } from "./kill-process.ts";
import type { ENOUGH, RaceKind, RaceReport, RaceTask } from "./r4-process-worker.ts";

export type ProcessRaceOptions = {
  seed: number;
  races: number;
  processes: number;
  /** The share of races in which some of the processes are killed. */
  kills: number;
  /** All kinds race, unless only this one does. */
  only?: RaceKind | undefined;
  /** How long a race may take before it counts as hung. */
  patienceMs?: number | undefined;
  mutation?: Mutation | undefined;
};

export type ProcessRaceFigures = {
  seed: number;
  races: number;
  processes: number;
  calls: number;
  refused: number;
  killed: number;
  /** Units (tokens, executions) billed or counted beyond a limit. */
  overspent: number;
  /** Units that are reserved although nobody is left, or that the books have and nobody spent. */
  leaked: number;
  /** Refusals although enough was left. */
  wrongRefusals: number;
  /** Processes that did not come to an end. */
  hung: number;
  faults: string[];
};

export async function runProcessRaces(options: ProcessRaceOptions): Promise<ProcessRaceFigures> {
  const { seed, races, processes, kills, only, patienceMs = 60_000, mutation } = options;
  const figures: ProcessRaceFigures = {
    ...{ seed, races, processes, calls: 0, refused: 0, killed: 0 },
    ...{ overspent: 0, leaked: 0, wrongRefusals: 0, hung: 0, faults: [] },
  };
  const folder = mkdtempSync(join(tmpdir(), "sous-r4-"));
  const file = join(folder, "runs.db");
  const store = await openSqliteStore(file);
  const program = await bundleWorker("r4-process-worker.ts", mutation);
  const crew = new Crew([program, file], processes, patienceMs);
  try {
    for (let race = 0; race < races && figures.hung === 0; race++) {
      const random = seededRandom(seed, `race ${race}`);
      const isDeadly = chance(random, kills);
      const kind = only ?? pick(random, isDeadly ? SHORT_KINDS : KINDS);
      const task: RaceTask = { seed, name: `race ${race}`, kind, callers: Math.ceil(16 / processes) };
      const limits = limitsOf(random, task, processes);
      const shared = await store.sharedBudget(task.name, limits);
      const killed = isDeadly ? between(random, 1, 3) : 0;
      const reports = await crew.race(task, killed, between(random, 0, 12));
      figures.hung += processes - killed - reports.length;
      figures.killed += killed;
      await judge(figures, { kind, shared, limits, reports, isWhole: killed === 0 }).catch((error: unknown) => {
        figures.faults.push(messageOf(error));
      });
    }
  } finally {
    await crew.end();
    await store[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, maxRetries: 5 });
  }
  return figures;
}

/** Where a process is killed, nobody can say what would have been enough. */
const SHORT_KINDS = ["calls", "trees"] as const satisfies RaceKind[];
const KINDS = [...SHORT_KINDS, "enough"] as const satisfies RaceKind[];

/** Tokens always; executions in some races. */
function limitsOf(random: Random, { kind, callers }: RaceTask, processes: number): SharedLimits {
  if (kind === "enough") {
    // All needs, one full reservation, and the reserves of all who are live.
    const runs = callers * processes;
    return { tokens: runs * NEEDS.calls * NEEDS.spent + NEEDS.prompt + NEEDS.output + runs * NEEDS.lastWords };
  }
  const tokens = kind === "calls" ? between(random, 500, 3_000) : between(random, 2_000, 12_000);
  return chance(random, 0.3) ? { tokens, executions: between(random, 3, 12) } : { tokens };
}

/** As the worker has them; its file cannot be imported here, because it is a process. */
const NEEDS: typeof ENOUGH = { calls: 3, prompt: 100, output: 100, spent: 160, lastWords: 150 };

type Race = { kind: RaceKind; shared: SharedBudget; limits: SharedLimits; reports: RaceReport[]; isWhole: boolean };

/** Compares the books with what the processes say. Of those that were killed only the books know. */
async function judge(figures: ProcessRaceFigures, { kind, shared, limits, reports, isWhole }: Race): Promise<void> {
  const [left, spent] = [await shared.left(), await shared.spent()];
  const sum = (unit: "tokens" | "executions" | "calls" | "refused") =>
    reports.reduce((total, report) => total + report[unit], 0);
  figures.calls += sum("calls");
  figures.refused += sum("refused");
  for (const unit of ["tokens", "executions"] as const) {
    const [counted, billed, limit] = [spent[unit] ?? 0, sum(unit), limits[unit]];
    figures.leaked += isWhole ? Math.abs(counted - billed) : Math.max(0, billed - counted);
    if (limit === undefined) continue;
    figures.overspent += Math.max(0, counted - limit, billed - limit);
    figures.leaked += Math.abs(limit - counted - (left[unit] ?? 0));
  }
  if (kind === "enough") figures.wrongRefusals += sum("refused");
  for (const { leastRefused, faults } of reports) {
    if (leastRefused !== null && (left.tokens ?? 0) >= leastRefused) figures.wrongRefusals += 1;
    figures.faults.push(...faults);
  }
}

/** So many processes that are ready; one that was killed is replaced before the next race. */
class Crew {
  readonly #command: readonly [program: string, file: string];
  readonly #size: number;
  readonly #patienceMs: number;
  #members: ChildProcess[] = [];

  constructor(command: readonly [program: string, file: string], size: number, patienceMs: number) {
    this.#command = command;
    this.#size = size;
    this.#patienceMs = patienceMs;
  }

  /** The reports of those who were not killed and have ended in time. */
  async race(task: RaceTask, kills: number, afterMs: number): Promise<RaceReport[]> {
    await this.#fill();
    const reports = this.#members.map((member) => reportOf(member, this.#patienceMs));
    for (const member of this.#members) member.send(task);
    if (kills > 0) await pause(afterMs);
    const victims = this.#members.slice(0, kills);
    for (const victim of victims) victim.kill("SIGKILL");
    await Promise.all(victims.map(gone));
    this.#members = this.#members.slice(kills);
    const found = await Promise.all(reports.slice(kills));
    return found.filter((report) => report !== undefined);
  }

  async end(): Promise<void> {
    for (const member of this.#members) member.kill("SIGKILL");
    await Promise.all(this.#members.map(gone));
  }

  async #fill(): Promise<void> {
    // The first keeps what it has compiled, and the others load in a third of the time.
    if (this.#members.length === 0) await this.#add();
    await Promise.all(Array.from({ length: this.#size - this.#members.length }, () => this.#add()));
  }

  async #add(): Promise<void> {
    const [program, file] = this.#command;
    // What they run is covered by other tests, and counting it takes longer than the races.
    const { NODE_V8_COVERAGE: _, ...rest } = process.env;
    const env = { ...rest, NODE_COMPILE_CACHE: join(dirname(program), "compiled") };
    const member = fork(program, [file], { execArgv: [], env });
    this.#members.push(member);
    await once(member, "message");
  }
}

/** Undefined when the process ends, or does not come to an end. */
async function reportOf(member: ChildProcess, patienceMs: number): Promise<RaceReport | undefined> {
  const stop = new AbortController();
  try {
    const report = once(member, "message", { signal: stop.signal }).then(([message]) => message as RaceReport);
    const exit = once(member, "exit", { signal: stop.signal }).then(() => undefined);
    const late = pause(patienceMs, undefined, { signal: stop.signal });
    for (const each of [report, exit, late]) each.catch(() => {});
    return await Promise.race([report, exit, late]);
  } finally {
    stop.abort();
  }
}

async function gone(member: ChildProcess): Promise<void> {
  if (member.exitCode === null && member.signalCode === null) await once(member, "exit");
}
