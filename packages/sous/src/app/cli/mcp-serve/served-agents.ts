/** The agents of `sous mcp serve`: each call is a run of its own, as `sous run --agent NAME` makes one. */

import { readTraceContext } from "../../core/trace-context.ts";
import { systemClock } from "../../host.ts";
import type { ServedAgents, ServedCall, ServedReport } from "../../mcp/served-agents.ts";
import { openApplication } from "../application/open.ts";
import { ROOT_NAME } from "../application/root.ts";
import { readOuterLimits } from "../application/within.ts";
import { processContext } from "../files/paths.ts";
import { failureBefore } from "../run/output.ts";
import { SharedParts } from "../serve/shared-parts.ts";
import { databaseFlags } from "../stored/database.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { openUnlessStopped } from "../terminal/interrupts.ts";
import { tell } from "../terminal/output.ts";
import { activityLines } from "./activity.ts";
import { offeredAgents } from "./offered-agents.ts";
import { type CallBudget, callBudgets } from "./outer-budget.ts";
import { REPORT_SCHEMA, reportOf } from "./report.ts";

/** Throws what is wrong with the names, the limits or the configuration, before anything is served. */
export async function openServedAgents(
  flags: RunFlags,
  names: readonly string[] | undefined,
): Promise<ServedAgents & AsyncDisposable> {
  const { default: manifest } = await import("../../../package.json", { with: { type: "json" } });
  const warn = toldOnce();
  const outer = await readOuterLimits(processContext().env);
  const tools = await offeredAgents(flags, names, warn);
  const budgetFor = await callBudgets(outer, systemClock);
  const shared = new SharedParts(flags);
  return {
    version: manifest.version,
    tools,
    outputSchema: REPORT_SCHEMA,
    call: (tool, task, call) => callAgent({ tool, task, ...call }, { flags, shared, budgetFor, warn }),
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
}

type AgentCall = ServedCall & { readonly tool: string; readonly task: string };

type CallParts = {
  readonly flags: RunFlags;
  readonly shared: SharedParts;
  readonly budgetFor: CallBudget;
  readonly warn: (line: string) => void;
};

async function callAgent(call: AgentCall, parts: CallParts): Promise<ServedReport> {
  const flags = { ...parts.flags, agent: call.tool === ROOT_NAME ? undefined : call.tool };
  const facts = { isStored: false, flags: databaseFlags(flags) };
  try {
    return await runOnce(call, { ...parts, flags });
  } catch (error) {
    return reportOf(failureBefore(error), facts);
  }
}

/** Rejects when there is no run; afterwards every ending is a report. */
async function runOnce({ task, signal, trace, show }: AgentCall, parts: CallParts): Promise<ServedReport> {
  const { flags, shared, budgetFor, warn } = parts;
  const context = processContext();
  const { store, telemetry } = await shared.parts();
  const traceNow = () => trace ?? readTraceContext(context.env);
  const opening = openApplication({
    ...context,
    flags,
    ask: undefined,
    store,
    telemetry,
    trace: traceNow,
    signal,
    warn,
  });
  await using application = await openUnlessStopped(opening, signal);
  const { runtime, agent, runOptions } = application;
  const options = { ...runOptions, budget: budgetFor(runOptions.budget), signal, onEvent: activityLines(show) };
  const result = await runtime.run(agent, task, options).result;
  const isStored = application.store !== undefined && result.lost === undefined;
  return reportOf(result, { isStored, flags: databaseFlags(flags) });
}

/** Every call reads the same files, and would warn of the same things. */
function toldOnce(): (line: string) => void {
  const told = new Set<string>();
  return (line) => {
    if (told.has(line) || told.size >= MAX_WARNINGS) return;
    told.add(line);
    tell(line);
  };
}

const MAX_WARNINGS = 1000;
