/** The report of a child that has ended, as its parent hears it: bounded, with the bill of everything below it. */

import type { RunOutcome } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import type { ChildReport } from "../../core/spawn.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { addCost, addUsage } from "../../core/usage.ts";
import { type AgentEntry, childInfo } from "../subagents/agent-book.ts";
import type { TreeParts } from "./parts.ts";
import type { EarlierRun } from "./restore/earlier-run.ts";
import type { EarlierTree } from "./restore/earlier-tree.ts";

/** The report of a run that has just ended. */
export function reportOf(run: Run, entry: AgentEntry, outcome: RunOutcome, parts: TreeParts): ChildReport {
  const { parent } = run;
  const { usage, costUsd } = run.total();
  parent?.billBelow(usage, costUsd);
  if (run.lacksApproval && parent !== undefined) parent.lacksApproval = true;
  return {
    ...childInfo(entry),
    ...boundedText(outcome.text, parts, parent),
    runId: run.who.runId,
    outcome,
    toolLog: run.toolLog,
    totalUsage: usage,
    totalCostUsd: costUsd,
  };
}

/** The report of a run that ended before a restart: its parent has been billed for it. Undefined when it has not ended. */
export function earlierReport(
  run: EarlierRun,
  entry: AgentEntry,
  tree: EarlierTree,
  parts: TreeParts,
  parent: Run,
): ChildReport | undefined {
  const { end } = run.state;
  if (end === undefined) return undefined;
  const { usage, costUsd } = tree.usageBelow(run);
  addUsage(usage, end.usage);
  return {
    ...childInfo(entry),
    ...boundedText(end.text, parts, parent),
    runId: run.runId,
    outcome: end,
    toolLog: tree.toolLog(run.runId, entry.profile),
    totalUsage: usage,
    totalCostUsd: addCost(end.costUsd, costUsd),
  };
}

function boundedText(
  text: string,
  { limits, settings }: TreeParts,
  parent: Run | undefined,
): Pick<ChildReport, "text" | "truncation" | "isFetchable"> {
  // Secrets go before the cut: half of a secret is not recognised any more.
  const cut = truncateUtf8(settings.redactor.text(text), limits.outputMaxSize);
  const { originalBytes, keptBytes } = cut;
  const truncation = cut.truncated ? { originalBytes, keptBytes } : undefined;
  return { text: cut.text, truncation, isFetchable: parent?.profile.tools.byName.has("subagent_report") === true };
}
