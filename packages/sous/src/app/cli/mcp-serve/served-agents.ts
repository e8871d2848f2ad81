/** `sous mcp serve`: agents as tools of other programs, over standard input and output. Each call is a run of its own, as `sous run --agent NAME` makes one. */

import { serveMcp } from "../../../bridges/mcp/serve.ts";
import type { ServedAgents, ServedCall, ServedReport, ServedTool } from "../../../bridges/mcp/serve-calls.ts";
import { oneLine, shortened } from "../../../core/clean-text.ts";
import type { Clock } from "../../../core/clock.ts";
import { codeOf, messageOf } from "../../../core/errors.ts";
import type { EventListener } from "../../../core/event.ts";
import type { ExternalAllowance } from "../../../core/external-agent.ts";
import type { Budget } from "../../../core/limits.ts";
import type { RootBudget, SharedBudget } from "../../../core/shared-budget.ts";
import { readTraceContext } from "../../../core/trace-context.ts";
import { toolRow } from "../../../core/words/tools.ts";
import { systemClock } from "../../../machine/host.ts";
import type { AgentFile } from "../../config/agents/file.ts";
import { openApplication } from "../application/open.ts";
import { agentFiles, knownTrust, readConfiguration } from "../application/project.ts";
import { chooseAgent, ROOT_NAME } from "../application/root.ts";
import { readOuterLimits } from "../application/within.ts";
import { CommandError, EXIT, usageError } from "../exit-codes.ts";
import { type ProcessContext, processContext } from "../files/paths.ts";
import { failureBefore } from "../run/output.ts";
import { SharedParts, serveOverStdio } from "../serve/over-stdio.ts";
import { databaseFlags } from "../stored/database.ts";
import { refusePositionals, type Typed } from "../table/options.ts";
import { type RunFlags, readRunFlags } from "../table/run-flags.ts";
import type { MCP } from "../table/server-entries.ts";
import { openUnlessStopped } from "../terminal/interrupts.ts";
import { tell } from "../terminal/output.ts";
import { cutToWidth, inertLine } from "../terminal/text.ts";
import { waitWords } from "../view/limit-lines.ts";
import { RunTree } from "../view/run-tree.ts";
import { REPORT_SCHEMA, reportOf } from "./report.ts";

/** Throws what is wrong with the names, the limits or the configuration, before anything is served. */
async function openServedAgents(
  flags: RunFlags,
  names: readonly string[] | undefined,
): Promise<ServedAgents & AsyncDisposable> {
  const { default: manifest } = await import("../../../../package.json", { with: { type: "json" } });
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

const MAX_LINE_BYTES = 10 * 1024 * 1024;

export async function mcpServe({ values, positionals }: Typed<typeof MCP>): Promise<number> {
  refusePositionals("sous mcp serve", positionals, " It reads requests from standard input.");
  const flags = readRunFlags(values);
  if (values.cwd !== undefined) workIn(values.cwd);
  if (process.stdin.isTTY)
    tell("sous mcp serve waits for an MCP client on standard input: clients start it by themselves. Ctrl-C ends it.");
  return serveOverStdio({
    open: () => openServedAgents(flags, values.agents),
    serve: (agents, pipe) => serveMcp({ ...pipe, agents, clock: systemClock, maxLineBytes: MAX_LINE_BYTES }),
  });
}

/** Clients start servers in their own folder, in the home folder or in /, and many have no setting for it. */
function workIn(folder: string): void {
  try {
    process.chdir(folder);
  } catch (error) {
    const code = codeOf(error);
    const why = code === "ENOENT" ? "it does not exist" : code === "ENOTDIR" ? "it is not a folder" : messageOf(error);
    throw usageError(`--cwd: the folder ${inertLine(folder, 1000)} cannot be used: ${inertLine(why)}`);
  }
}

const COLUMNS = 200;

/** Calls `show` with the activity of the run that an event is about: the root, or any child. */
function activityLines(show: (line: string) => void): EventListener {
  const tree = new RunTree("→");
  return (event) => {
    tree.apply(event);
    const node = tree.get(event.runId);
    if (node === undefined) return;
    const doing = node.waitsFor === undefined ? node.activity + node.result : waitWords(node.waitsFor);
    const words = `${node.label}: ${doing}`.split(" ").filter((word) => word !== "");
    show(cutToWidth(words.join(" "), COLUMNS));
  };
}

const MAX_DESCRIPTION = 1000;

/**
 * Offers the agents that are named, or the root and all that agents may call. They are what the files say now: a call reads the
 * files again. Throws a usage error for a name that no agent has.
 */
async function offeredAgents(
  flags: RunFlags,
  names: readonly string[] | undefined,
  warn: (line: string) => void,
): Promise<ServedTool[]> {
  const files = await readAgents(flags, processContext(), warn);
  const all = [ROOT_NAME, ...files.filter(({ callable }) => callable !== false).map(({ name }) => name)];
  return [...new Set(names ?? all)].map((name) => (name === ROOT_NAME ? ROOT : toolOf(chooseAgent(files, name))));
}

/** Reads the agents as a run would; a problem with trust or the configuration ends the command. */
async function readAgents(
  flags: RunFlags,
  context: ProcessContext,
  warn: (line: string) => void,
): Promise<readonly AgentFile[]> {
  const warning = (line: string): void => warn(`warning: ${inertLine(line, 1000)}`);
  const trust = flags.isBare ? undefined : await knownTrust({ ...context, warn: warning }, false);
  const project = trust?.state === "trusted" ? trust : undefined;
  const { configuration, warnings } = await readConfiguration({ flags, ...context, project });
  for (const line of warnings) warning(line);
  return agentFiles(context, project, configuration, warning);
}

/** Names of agents are names of tools as they are. */
function toolOf({ name, nickname, description, tools, delegate }: AgentFile): ServedTool {
  const about = shortened(oneLine(description), MAX_DESCRIPTION);
  return {
    name,
    title: shortened(oneLine(nickname), 100) || name,
    description: about === "" ? `The agent ${name} of sous.` : about,
    isReadOnly: !delegate && tools !== undefined && tools.every((tool) => toolRow(tool)?.effect === "read"),
  };
}

const ROOT: ServedTool = {
  name: ROOT_NAME,
  title: ROOT_NAME,
  description:
    "A general agent that works in this folder: it reads and searches files, changes them and runs commands as far as its rules allow, and can delegate to subagents.",
  isReadOnly: false,
};

/** Gives a call its budget, within what is left. */
type CallBudget = (own: Budget | undefined) => RootBudget | undefined;

/** `outer` is undefined when there is no outer run: then each call has its own budget, and nothing is shared. */
async function callBudgets(outer: ExternalAllowance | undefined, clock: Clock): Promise<CallBudget> {
  if (outer === undefined) return (own) => own;
  const from = await sharedOf(outer);
  const startedAt = clock.monotonic();
  return (own) => {
    if (outer.depth > outer.maxDepth)
      throw new CommandError(
        `The outer run may be ${outer.maxDepth} levels deep, and this call would be level ${outer.depth}: continue without it`,
        EXIT.limit,
      );
    if (outer.durationMs === undefined) return { ...own, from };
    const left = outer.durationMs - (clock.monotonic() - startedAt);
    if (left <= 0)
      throw new CommandError(
        "The time of the outer run is over: give the run that started this server more",
        EXIT.limit,
      );
    return { ...own, durationMs: Math.min(own?.durationMs ?? left, left), from };
  };
}

async function sharedOf({ tokens, costUsd }: ExternalAllowance): Promise<SharedBudget | undefined> {
  if (tokens === undefined && costUsd === undefined) return undefined;
  const { openMemoryStore } = await import("../../../storage/store/memory.ts");
  return openMemoryStore().sharedBudget("the outer run", { tokens, costUsd });
}
