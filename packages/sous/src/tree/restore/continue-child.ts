/** A child that the same call had started before a restart: its report comes from the journal, or it continues. */

import { toRefusal } from "../../core/errors.ts";
import type { Run, RunProfile } from "../../core/run.ts";
import { Scope } from "../../core/scope.ts";
import type { SpawnOptions, SpawnReply } from "../../core/spawn.ts";
import { childInfo } from "../../subagents/agent-book.ts";
import { deliverReport } from "../../subagents/background-children.ts";
import { runChild, summaryFor } from "../spawn.ts";
import type { TreeState } from "../state.ts";
import { asStarted, type EarlierRuns } from "./earlier-runs.ts";
import type { EarlierRun } from "./earlier-tree.ts";

/** `profileOf` makes the profile as the call asked for it; it is only needed when the child had not ended. */
export async function continueChild(
  tree: TreeState & { readonly earlierRuns: EarlierRuns },
  parent: Run,
  earlier: EarlierRun,
  profileOf: () => RunProfile | Promise<RunProfile>,
  options: SpawnOptions = {},
): Promise<SpawnReply> {
  const { earlierRuns } = tree;
  const { state, runId } = earlier;
  const entry = earlierRuns.entryOf(earlier);
  if (state.end === undefined) {
    try {
      const profile = asStarted(await profileOf(), state.start);
      const { task, origin, call } = state.start;
      const conversation = await earlierRuns.conversationOf(earlier, profile);
      const summary = summaryFor(tree, parent, options);
      const scope = new Scope(parent.work);
      const plan = { entry, runId, parent, profile, task, conversation, origin, call, summary, scope, earlier };
      return await runChild(tree, plan, options);
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal === undefined || state.end !== undefined) throw error;
      // It had started, so it has an end.
      earlierRuns.close(parent, earlier, refusal.errorType, refusal.message);
    }
  }
  const report = earlierRuns.reportOf(parent, earlier);
  if (report === undefined) throw new Error(`${entry.path} has no report`);
  options.onEnd?.(report.outcome);
  if (options.background !== true) return { kind: "ended", report };
  deliverReport(parent, report);
  return { kind: "started", child: childInfo(entry) };
}
