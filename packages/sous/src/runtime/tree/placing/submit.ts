/** A run that was left to the workers, as the process sees it that submitted it. */

import type { Clock } from "../../../core/clock.ts";
import { ignore } from "../../../core/errors.ts";
import { LACKS_APPROVAL } from "../../../core/outcome.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { CancelMode } from "../../../core/spawn.ts";
import { type RunRecord, type Store, sumOfRuns } from "../../../core/store.ts";
import type { OpenTree } from "../open.ts";
import { readQuestions } from "../root-run.ts";
import { addElsewhere, deniedIn } from "./elsewhere.ts";
import { Followed } from "./followed.ts";
import { patiently } from "./patiently.ts";
import type { PlacedEnd, PlacedRuns } from "./placed-runs.ts";

/** A root on a worker. It continues when this process ends. */
export type SubmittedRun<Output = unknown> = {
  readonly id: string;
  /** Resolves with the result of the run, whatever its ending; with `questions` when it waits for an answer. */
  readonly result: Promise<RunResult<Output>>;
  /** Says something to a run of the tree; it reads it before its next turn. Resolves when that is kept. */
  steer(path: string, text: string): Promise<void>;
  /** Stops the run at `path`, or the whole tree. Resolves when that is kept: from then on it happens without this process. */
  cancel(path?: string, options?: { mode?: CancelMode }): Promise<void>;
};

type Watched = { readonly agent: string; readonly isWatched: boolean };

export function submitted<Output>(
  { placed, store, clock }: { placed: PlacedRuns; store: Store; clock: Clock },
  opened: OpenTree,
  { agent, isWatched }: Watched,
): SubmittedRun<Output> {
  const { rootId, journal } = opened;
  // A program that only submits can end: nothing is waited for before it is asked for.
  let result = isWatched ? follow() : undefined;
  result?.catch(ignore);

  async function follow(): Promise<RunResult<Output>> {
    const asking = { clock, journal };
    const followed = new Followed({
      rootId,
      placing: { journals: (id) => patiently(() => placed.placing.journals(id), asking) },
      read: (journalId, options) => patiently(() => store.read(journalId, options), asking),
      isContinued: false,
      isRootElsewhere: true,
      onEvent: (event, { journalId }) => journal.showForeign(event, journalId),
    });
    using _following = isWatched ? placed.follow(followed) : undefined;
    const end = await placed.waitFor(rootId, { rootId, agent });
    const records = await patiently(() => store.tree(rootId), asking);
    const denied = await patiently(() => deniedIn(store, records), asking);
    const questions = typeof end === "string" ? await patiently(() => readQuestions({ store, rootId }), asking) : [];
    return resultOf(opened, records, { end, denied, questions }) as RunResult<Output>;
  }

  return {
    id: rootId,
    get result() {
      result ??= follow();
      return result;
    },
    steer: (path, text) => placed.mail.post({ to: rootId, body: { kind: "steer", path, text } }),
    cancel(path, { mode = "stop" } = {}) {
      if (path === undefined && mode === "stop") return placed.mail.stopTree(rootId);
      return placed.mail.post({ to: rootId, body: { kind: "stop", mode, path } });
    },
  };
}

type Ended = Pick<RunResult, "denied" | "questions"> & { readonly end: PlacedEnd };

function resultOf({ tree, rootId, rootAgentId }: OpenTree, records: readonly RunRecord[], ended: Ended): RunResult {
  const { end, denied, questions } = ended;
  addElsewhere(tree.state, records, () => true);
  const { usage, costUsd } = sumOfRuns(records);
  const agents = tree.book.summaries(rootAgentId);
  const whole = { usage, costUsd, runId: rootId, agents, denied, questions, lost: records[0]?.lost };
  if (typeof end === "string")
    return {
      ...whole,
      ...LACKS_APPROVAL,
      text: "",
      output: undefined,
      error: undefined,
      turns: records[0]?.turns ?? 0,
      durationMs: 0,
    };
  const { status, stopReason, text, output, durationMs, fault } = end;
  const error = fault && { type: fault.type, message: fault.message, kind: fault.kind };
  return { ...whole, status, stopReason, text, output, turns: end.turns, durationMs, error };
}
