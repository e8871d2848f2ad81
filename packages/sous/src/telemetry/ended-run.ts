/** Counts a run that is over: the same for a run that ends in this process and for one that a database remembers. */

import { completionStatus } from "../core/outcome.ts";
import type { RunTally } from "../core/totals.ts";
import type { Meter } from "./meter.ts";

/** A run whose end is known. */
export type EndedRun = Pick<
  RunTally,
  "agent" | "model" | "depth" | "errorType" | "durationMs" | "turns" | "usage" | "costUsd"
> & { status: Exclude<RunTally["status"], "interrupted"> };

export function countEnd(meter: Meter, run: EndedRun): void {
  const depth = String(run.depth);
  const status = completionStatus(run.status);
  meter.record("duration", run.durationMs / 1000, [depth, status]);
  meter.record("turns", run.turns, [depth]);
  meter.record("tokens", run.usage.totalTokens, [depth]);
  meter.count("completions", 1, [depth, status]);
  meter.count("invocations", 1, [run.agent, status]);
  if (run.errorType !== undefined) meter.count("errors", 1, [depth, run.errorType]);
  countSpend(meter, run);
}

/** Also of a run whose end is not known: what was spent stays spent. */
export function countSpend(
  meter: Meter,
  { agent, model, usage, costUsd }: Pick<RunTally, "agent" | "model" | "usage" | "costUsd">,
): void {
  if (costUsd === null) meter.count("unpriced", 1, [agent]);
  else meter.count("cost", costUsd, [agent]);
  meter.count("modelTokens", usage.inputTokens, [model, "input"]);
  meter.count("modelTokens", usage.outputTokens, [model, "output"]);
  meter.count("modelTokens", usage.cachedInputTokens, [model, "cache_read"]);
  meter.count("modelTokens", usage.cacheWriteTokens, [model, "cache_write"]);
}
