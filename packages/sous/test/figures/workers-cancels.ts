/** The cancel of a tree over workers: how long requests still come, until all runs have ended, and until the caller is told. */

import { setTimeout as pause } from "node:timers/promises";
import type { Shape } from "./workers-script.ts";
import { runsOf } from "./workers-script.ts";
import { WorkersStage } from "./workers-stage.ts";

export type WorkersCancelFigure = {
  readonly shape: Shape;
  /** Behind the cancel, in milliseconds; 0 when none came. */
  readonly lastRequestMs: number;
  readonly allEndedMs: number;
  readonly resultMs: number;
  readonly problems: string[];
};

export type WorkersCancelOptions = {
  readonly shape: Shape;
  /** A worker is killed this long behind the cancel. */
  readonly killAfterMs?: number | undefined;
  readonly delayMs?: number | undefined;
};

export async function cancelWorkers({
  shape,
  killAfterMs,
  delayMs = 2_000,
}: WorkersCancelOptions): Promise<WorkersCancelFigure> {
  await using stage = await WorkersStage.open({
    delayMs: () => delayMs,
    toolMs: 100,
    places: 2_000,
    maxConnections: 8,
  });
  await Promise.all([stage.start(), stage.start()]);
  const submitted = await stage.submit("cancelled", shape);
  const scouts = shape.reduce((product, children) => product * children, 1);
  const { provider } = stage;
  // All of them have begun, and are in the middle of their work.
  const isAtWork = () =>
    provider.requests.filter(({ part }) => part.split(".").length > shape.length).length >= 2 * scouts;
  while (!isAtWork()) await pause(20);
  const at = performance.now();
  await submitted.cancel();
  if (killAfterMs !== undefined) {
    await pause(killAfterMs);
    const [victim] = stage.workers;
    if (victim !== undefined) await stage.kill(victim);
  }
  const open = "select count(*)::integer as open from sous.trees where is_open";
  const allEnded = (async () => {
    for (;;) {
      const [row] = await stage.rows<{ open: number }>(open);
      if (row?.open === 0) return performance.now() - at;
      await pause(10);
    }
  })();
  const result = await submitted.result;
  const resultMs = performance.now() - at;
  const allEndedMs = await allEnded;
  const late = provider.requests.filter((each) => each.at > at);
  const lastRequestMs = Math.max(0, ...late.map((each) => each.at - at));
  const problems: string[] = [];
  if (result.status !== "cancelled") problems.push(`The result is ${result.status}`);
  const records = await stage.store.tree(submitted.id);
  if (records.length !== runsOf(shape)) problems.push(`${records.length} runs of ${runsOf(shape)}`);
  const others = Map.groupBy(records, ({ status }) => status);
  // On a busy machine the first have done all of their work before the last have begun theirs.
  others.delete("completed");
  others.delete("cancelled");
  for (const [status, each] of others) problems.push(`${each.length} are ${status}`);
  const [left] = await stage.rows<{ owners: number }>(
    "select count(*)::integer as owners from sous.trees where owner is not null",
  );
  if (left?.owners !== 0) problems.push(`${left?.owners} owners are left`);
  const rounded = [lastRequestMs, allEndedMs, resultMs].map(Math.round);
  return { shape, lastRequestMs: rounded[0] ?? 0, allEndedMs: rounded[1] ?? 0, resultMs: rounded[2] ?? 0, problems };
}
