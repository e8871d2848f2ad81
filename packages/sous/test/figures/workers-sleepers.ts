/**
 * Workers that are gone in other ways than by a kill: stopped past their lease and woken, on another host, cut off. How long it takes
 * until their runs are at work again, and what a woken one does.
 */

import { readWholeTree } from "../../src/core/read-tree.ts";
import type { WorkerHand } from "./workers-hand.ts";
import { judge } from "./workers-judge.ts";
import { WorkersStage } from "./workers-stage.ts";

export type Ending = "killed" | "killed elsewhere" | "stopped" | "stopped and cut off";

export type LostWorkerFigure = {
  readonly ending: Ending;
  /** From the end of the worker until all that it had is at work again. */
  readonly backMs: number;
  readonly moved: number;
  readonly problems: string[];
};

const SHAPE = [12] as const;

/** One worker has the whole tree when it is lost; another one stands by. */
export async function loseWorker(ending: Ending): Promise<LostWorkerFigure> {
  await using stage = await WorkersStage.open({ delayMs: () => 150, toolMs: 50, places: 50 });
  const lost = await stage.start(ending === "killed elsewhere" ? { host: "elsewhere" } : {});
  const submitted = await stage.submit("lost", SHAPE);
  await lost.until(() => lost.count("taken") > SHAPE[0]);
  const other = await stage.start();
  const held = lost.held;
  const problems: string[] = [];
  const at = performance.now();
  if (ending === "killed" || ending === "killed elsewhere") await stage.kill(lost);
  else await lost.freeze();
  if (ending === "stopped and cut off") await cutOff(stage);
  const taken = () => other.said.filter(({ state, runId }) => state === "taken" && held.includes(runId));
  await other.until(() => new Set(taken().map(({ runId }) => runId)).size === held.length);
  const backMs = Math.round(Math.max(...taken().map((each) => each.at)) - at);
  const result = await submitted.result;
  const verdict = await judge(stage, { name: "lost", shape: SHAPE }, result);
  problems.push(...verdict.problems);
  if (!lost.isDead) {
    problems.push(...(await wake(stage, lost, held)));
    const events = await readWholeTree(stage.store, result.runId);
    if (events.length !== verdict.events) problems.push(`${events.length - verdict.events} events came afterwards`);
  }
  return { ending, backMs, moved: held.length, problems };
}

/** The one that wakes up writes nothing, says that it has lost its runs, and takes others. */
async function wake(stage: WorkersStage, woken: WorkerHand, held: readonly string[]): Promise<string[]> {
  const problems: string[] = [];
  const asked = stage.provider.requests.length;
  const ran = stage.tools().length;
  woken.signal("SIGCONT");
  await woken.until(() => woken.held.length === 0);
  const ends = woken.said.filter(({ state, runId }) => state !== "taken" && held.includes(runId));
  for (const { state, runId } of ends)
    if (state !== "left") problems.push(`The woken worker says ${state} of ${runId}`);
  const [requests, calls] = [stage.provider.requests.length - asked, stage.tools().length - ran];
  // What was on its way comes to its end: a call whose start was kept just before it was stopped begins.
  if (requests > held.length || calls > held.length)
    problems.push(`The woken worker made ${requests} requests and ${calls} tool calls`);
  const before = woken.count("taken");
  // The other one is busy with nothing: both take from many.
  const again = await stage.submit("again", [40]);
  const result = await again.result;
  if (woken.count("taken") === before) problems.push("The woken worker takes nothing more");
  problems.push(...(await judge(stage, { name: "again", shape: [40] }, result)).problems);
  return problems;
}

/** Ends the connections that hold the locks of workers. The one that was stopped takes none again. */
async function cutOff(stage: WorkersStage): Promise<void> {
  await stage.rows(
    `select pg_terminate_backend(l.pid) from pg_locks l join sous.workers w
       on (l.classid::bigint << 32) | l.objid::bigint = w.lock_key where l.locktype = 'advisory' and l.objsubid = 1`,
  );
}
