/** `sous replay --diff`: two runs of one task side by side. */

import { type AgentDiff, diffStored, type RunStep, type RunsDiff } from "../assemble.ts";
import { diffLines } from "../diff-lines.ts";
import { snakeCase } from "../event-json.ts";
import { openRuns } from "../open-runs.ts";
import { printJson } from "../output.ts";
import { usageJson } from "../run-json.ts";
import { findToRead, type Replay } from "./replay-parts.ts";

export async function replayDiff({ values, file, output }: Replay, other: string): Promise<number> {
  await using store = await openRuns(file, "read");
  const left = await findToRead(store, values.diff ?? "");
  const right = await findToRead(store, other);
  const diff = await diffStored(store, left.id, right.id);
  if (values.json) printJson(diffJson(diff));
  else output.print(diffLines(diff, output.columns, output.style));
  return 0;
}

function diffJson({ left, right, isSame, agents }: RunsDiff): unknown {
  const sideJson = ({ runId, agent, model, task, totals }: RunsDiff["left"]): unknown => ({
    run_id: runId,
    agent,
    model,
    task,
    totals: totalsJson(totals),
  });
  const agentJson = (side: AgentDiff["left"]): unknown =>
    side === undefined ? null : { agent_id: side.agentId, label: side.label, totals: totalsJson(side.totals) };
  return {
    schema: "sous.diff.v1",
    is_same: isSame,
    left: sideJson(left),
    right: sideJson(right),
    agents: agents.map((agent) => ({
      path: agent.path,
      mark: agent.mark,
      left: agentJson(agent.left),
      right: agentJson(agent.right),
      rows: agent.rows.map(({ mark, changes, left: one, right: two }) => ({
        mark,
        changes: changes.map(snakeCase),
        left: stepJson(one),
        right: stepJson(two),
      })),
    })),
  };
}

function totalsJson(totals: RunsDiff["left"]["totals"]): unknown {
  return {
    status: totals.status,
    stop_reason: totals.stopReason ?? null,
    agents: totals.agents,
    turns: totals.turns,
    tool_count: totals.toolCount,
    usage: usageJson(totals.usage),
    cost_usd: totals.costUsd,
    duration_ms: totals.durationMs,
  };
}

/** The names of its fields, and not what a model wrote as input, are ours to spell. */
function stepJson(step: RunStep | undefined): unknown {
  if (step === undefined) return null;
  return Object.fromEntries(Object.entries(step).map(([name, value]) => [snakeCase(name), value ?? null]));
}
