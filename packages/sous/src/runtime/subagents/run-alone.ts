/** A child that is called outside of any tree: it is the root of its own, and cannot be continued. */

import type { AgentDefinition } from "../../core/agent.ts";
import { toRefusal } from "../../core/errors.ts";
import type { EventListener, StoredEvent } from "../../core/event.ts";
import { externalNameIn } from "../../core/model.ts";
import { type Fault, isSuccess } from "../../core/outcome.ts";
import type { RunOptions, RunResult } from "../../core/runtime.ts";
import type { ChildReport, SpawnReply } from "../../core/spawn.ts";
import type { Tool, ToolContext, ToolResult } from "../../core/tool.ts";
import { toolLogOf } from "../../core/tool-log.ts";
import { failureForModel, reportForModel, reportMetadata, toToolResult } from "./report.ts";

/** Starts a tree of its own, for a tool that is called outside of one. The runtime supplies it. */
export type StartRun = (definition: AgentDefinition, task: string, options: RunOptions) => Promise<RunResult>;

export type AloneCall = {
  start: StartRun;
  label: string;
  /** The level of the child and the deepest there may be, as the maker of the tool counts. */
  depth: number;
  maxDepth: number;
  context: ToolContext | undefined;
  onEvent: EventListener | undefined;
};

const MAX_TREE_DEPTH = 10;

/** The report has the whole text and a log of the tools. */
export async function runAlone(definition: AgentDefinition, task: string, call: AloneCall): Promise<SpawnReply> {
  const { start, label, depth, maxDepth, context } = call;
  const events: StoredEvent[] = [];
  let external: string | undefined;
  try {
    const result = await start(definition, task, {
      signal: context?.signal,
      onEvent(event) {
        if (event.parentId !== null) return;
        if (event.type === "run-start") external = externalNameIn(event.model);
        if (event.type === "tool-call-start" || event.type === "tool-call-end" || event.type === "approval-end")
          events.push(event);
        return call.onEvent?.(event);
      },
      // It is the root of its own tree, so this many levels may be below it.
      limits: { maxDepth: Math.min(Math.max(maxDepth - depth, 1), MAX_TREE_DEPTH) },
    });
    return {
      kind: "ended",
      report: rootReport(
        result,
        { label, depth, external },
        toolLogOf(events, (name) => displayNameIn(definition, name)),
      ),
    };
  } catch (error) {
    const refusal = toRefusal(error);
    if (refusal === undefined) throw error;
    return { kind: "refused", errorType: refusal.errorType, message: refusal.message };
  }
}

export function displayNameIn({ tools }: AgentDefinition, toolName: string): string | undefined {
  const list: readonly Tool[] = Array.isArray(tools) ? tools : [];
  return list.find(({ name }) => name === toolName)?.displayName;
}

function rootReport(
  result: RunResult,
  { label, depth, external }: Pick<ChildReport, "label" | "depth" | "external">,
  toolLog: ChildReport["toolLog"],
): ChildReport {
  const { runId, text, usage, costUsd, error, agents } = result;
  const [own] = agents;
  return {
    agentId: runId,
    runId,
    path: own?.path ?? label,
    label,
    depth,
    agentName: own?.label ?? label,
    external,
    outcome: { ...result, fault: faultOf(error), toolCount: own?.toolCount ?? 0, usage: own?.usage ?? usage },
    text,
    truncation: undefined,
    isFetchable: false,
    toolLog,
    totalUsage: usage,
    totalCostUsd: costUsd,
  };
}

/** Makes the result as in a tree, without an id: the child cannot be continued. */
export function aloneToolResult(reply: SpawnReply): ToolResult {
  if (reply.kind !== "ended") return toToolResult(reply);
  const { report } = reply;
  const success = isSuccess(report.outcome);
  const error = success ? undefined : failureForModel(report);
  return { success, output: reportForModel(report), error, metadata: reportMetadata(report) };
}

/** Another process that has taken over is no failure of the model. */
function faultOf(error: RunResult["error"]): Fault | undefined {
  return error && { ...error, kind: error.kind === "taken_over" ? undefined : error.kind };
}
