/** The checks of `sous doctor` about workers: those that are at work, those that died, and the runs that wait for one. */

import type { Placing, WorkerState } from "../../../core/engine.ts";
import { messageOf } from "../../../core/errors.ts";
import type { RunRecord, Store } from "../../../core/store.ts";
import { shortFolder } from "../files/paths.ts";
import { duration, inertLine, plural } from "../terminal/text.ts";
import { type Check, ok, warning } from "./machine.ts";

type PlacedStore = Pick<Store, "list" | "read"> & { readonly placing: Pick<Placing, "workers"> };

/** Empty when nothing is placed, and no worker is known. */
export async function checkWorkers(store: PlacedStore, now: number): Promise<Check[]> {
  try {
    const workers = await store.placing.workers();
    const queued = await store.list({ status: "queued", limit: MAX_RUNS });
    const left = await placedOnes(store, await store.list({ status: "interrupted", limit: MAX_RUNS }));
    return [
      ...workers.map(checkWorker),
      ...checkRuns("queued runs", queued, workers, (runs) => `${plural(runs.length, "run")} ${sinceWords(runs, now)}`),
      ...checkRuns("lost workers", left, workers, (runs) => {
        return `${plural(runs.length, "run")} whose worker is gone: another one continues there`;
      }),
    ];
  } catch (error) {
    return [warning("workers", messageOf(error), "look at the database first")];
  }
}

/** Enough to know why they wait. */
const MAX_RUNS = 1000;

/** Leaves those that workers take, of runs that no process works on. */
async function placedOnes(store: PlacedStore, runs: readonly RunRecord[]): Promise<RunRecord[]> {
  const found: RunRecord[] = [];
  for (const run of runs) {
    // A run below the first of its journal continues with that.
    if (run.id !== run.journalId) continue;
    const [start] = run.id === run.rootId ? await store.read(run.id, { limit: 1 }).catch(() => []) : [];
    if (run.id !== run.rootId || (start?.type === "run-start" && start.placed !== undefined)) found.push(run);
  }
  return found;
}

function checkWorker({ name, where, isAlive, isWatched, held, places, agents, folder }: WorkerState): Check {
  const row = `worker ${inertLine(name, 60)}`;
  if (!isAlive) {
    const found = `${where} died, or was cut off`;
    if (held === 0) return ok(row, `${found}, and had nothing`);
    return warning(
      row,
      `${found}, and had ${plural(held, "run")}`,
      "other workers take over; start it again: sous worker",
    );
  }
  const known = `${agents.slice(0, MAX_NAMED).join(", ")}${agents.length > MAX_NAMED ? ` and ${agents.length - MAX_NAMED} more` : ""}`;
  const facts = [
    `at work in ${where}`,
    ...(folder === undefined ? [] : [`folder ${shortFolder(folder)}`]),
    `${held} of ${plural(places, "place")} taken`,
    `agents ${inertLine(known, 500)}`,
  ].join(", ");
  return isWatched
    ? ok(row, facts)
    : warning(row, `${facts}; its death would be seen only after 10 seconds`, UNWATCHED);
}

const MAX_NAMED = 20;
const UNWATCHED =
  "give it connections of its own to Postgres: not through a pool that changes them between statements, and more than one";

/** One check for each reason. */
function checkRuns(
  name: string,
  runs: readonly RunRecord[],
  workers: readonly WorkerState[],
  words: (runs: readonly RunRecord[]) => string,
): Check[] {
  const living = workers.filter(({ isAlive }) => isAlive);
  const byReason = Map.groupBy(runs, (run) => whyWaiting(run, living));
  return [...byReason].map(([reason, waiting]) => {
    const fix = fixOf(reason, waiting);
    const found = `${words(waiting)}; ${reason}`;
    return fix === undefined ? ok(name, found) : warning(name, found, fix);
  });
}

const NO_WORKER = "no worker is at work";
const FULL = "waiting for a place: all workers that could take them are full";
const SOON = "a worker takes them now";

function whyWaiting({ agent, cwd }: RunRecord, living: readonly WorkerState[]): string {
  if (living.length === 0) return NO_WORKER;
  const knowing = living.filter(({ agents }) => agents.includes(agent));
  if (knowing.length === 0) return `no living worker knows the agent ${inertLine(agent, 80)}`;
  const here = knowing.filter(({ folder }) => folder === undefined || folder === cwd);
  if (here.length === 0)
    return `no living worker is in the folder ${cwd === undefined ? "of these runs" : shortFolder(cwd)}`;
  return here.some(({ held, places }) => held < places) ? SOON : FULL;
}

function fixOf(reason: string, [run]: readonly RunRecord[]): string | undefined {
  if (reason === SOON) return undefined;
  if (reason === FULL) return "start another worker, or one with more --places";
  const where = run?.cwd === undefined ? "" : ` in ${shortFolder(run.cwd)}`;
  return `start sous worker${where}; or sous cancel ID`;
}

function sinceWords(runs: readonly RunRecord[], now: number): string {
  const longest = duration(Math.max(0, now - Math.min(...runs.map(({ startedAt }) => startedAt))));
  return runs.length === 1 ? `waits for ${longest}` : `wait, the first for ${longest}`;
}
