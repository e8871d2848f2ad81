/** A run that was left to the workers, as the process sees it that submitted it. */

import type { Clock } from "../../../core/clock.ts";
import { ignore } from "../../../core/errors.ts";
import { LACKS_APPROVAL } from "../../../core/outcome.ts";
import type { AgentSummary, RunResult } from "../../../core/runtime.ts";
import type { CancelMode } from "../../../core/spawn.ts";
import type { RunRecord, Store } from "../../../core/store.ts";
import type { Journal } from "../../../core/tree-ports.ts";
import { addCost, addUsage } from "../../../core/usage.ts";
import { isUnended } from "../../../core/words/outcomes.ts";
import { openQuestions, toOpenQuestion } from "../../rights/open-questions.ts";
import { Followed } from "./followed.ts";
import { patiently } from "./patiently.ts";
import type { PlacedEnd, PlacedRuns } from "./placed-runs.ts";

/** A root on a worker. It continues when this process ends. */
export type SubmittedRun<Output = unknown> = {
  readonly id: string;
  /** Resolves with the result of the run, whatever its ending; with `questions` when it waits for an answer. */
  readonly result: Promise<RunResult<Output>>;
  /** Says something to a run of the tree; it reads it before its next turn. */
  steer(path: string, text: string): void;
  /** Stops the run at `path`, or the whole tree. */
  cancel(path?: string, options?: { mode?: CancelMode }): void;
};

export function submitted<Output>(
  { placed, store, clock }: { placed: PlacedRuns; store: Store; clock: Clock },
  { runId, agent }: { runId: string; agent: string },
  journal: Pick<Journal, "showForeign"> | undefined,
): SubmittedRun<Output> {
  // A program that only submits can end: nothing is waited for before it is asked for.
  let result = journal === undefined ? undefined : follow();
  result?.catch(ignore);

  async function follow(): Promise<RunResult<Output>> {
    // It has no journal here that could be lost.
    const asking = { clock, journal: { degraded: undefined } };
    const followed = new Followed({
      rootId: runId,
      placing: { journals: (rootId) => patiently(() => placed.placing.journals(rootId), asking) },
      read: (journalId, options) => patiently(() => store.read(journalId, options), asking),
      isContinued: false,
      isRootElsewhere: true,
      onEvent: (event, { journalId }) => journal?.showForeign(event, journalId),
    });
    using _following = journal === undefined ? undefined : placed.follow(followed);
    const end = await placed.waitFor(runId, { rootId: runId, agent });
    return (await patiently(() => resultOf(store, runId, end), asking)) as RunResult<Output>;
  }

  return {
    id: runId,
    get result() {
      result ??= follow();
      return result;
    },
    steer: (path, text) => placed.post({ to: runId, body: { kind: "steer", path, text } }),
    cancel(path, { mode = "stop" } = {}) {
      if (path === undefined && mode === "stop") placed.stopTree(runId);
      else placed.post({ to: runId, body: { kind: "stop", mode, path } });
    },
  };
}

async function resultOf(store: Store, runId: string, end: PlacedEnd): Promise<RunResult> {
  const records = await store.tree(runId);
  const agents = summariesOf(records);
  const [root] = agents;
  const usage = { ...records[0]?.usage } as RunResult["usage"];
  let costUsd = root?.costUsd ?? null;
  for (const each of agents.slice(1)) {
    addUsage(usage, each.usage);
    costUsd = addCost(costUsd, each.costUsd);
  }
  const whole = { usage, costUsd, runId, agents, denied: [], lost: records[0]?.lost };
  if (typeof end === "string") {
    const questions = openQuestions(await store.read(runId)).map(toOpenQuestion);
    const own = { ...LACKS_APPROVAL, text: "", output: undefined, error: undefined };
    return { ...whole, ...own, turns: root?.turns ?? 0, durationMs: 0, questions };
  }
  const { status, stopReason, text, output, turns, durationMs, fault } = end;
  const error = fault && { type: fault.type, message: fault.message, kind: fault.kind };
  return { ...whole, status, stopReason, text, output, turns, durationMs, error, questions: [] };
}

/** One line an agent, over all its runs. */
function summariesOf(records: readonly RunRecord[]): AgentSummary[] {
  const agentOf = new Map(records.map(({ id, agentId }) => [id, agentId]));
  const byAgent = new Map<string, AgentSummary>();
  for (const record of records) {
    const { agentId: id, parentId, path, label, depth, status, turns, toolCount, usage, costUsd, durationMs } = record;
    const before = byAgent.get(id);
    if (before === undefined) {
      const parent = parentId === null ? null : (agentOf.get(parentId) ?? parentId);
      const own = { id, parentId: parent, path, label, depth, turns, toolCount, usage: { ...usage }, costUsd };
      byAgent.set(id, { ...own, status: isUnended(status) ? "running" : status, durationMs: durationMs ?? 0 });
      continue;
    }
    before.status = isUnended(status) ? "running" : status;
    before.turns += turns;
    before.toolCount += toolCount;
    before.durationMs += durationMs ?? 0;
    before.costUsd = addCost(before.costUsd, costUsd);
    addUsage(before.usage, usage);
  }
  return [...byAgent.values()];
}
