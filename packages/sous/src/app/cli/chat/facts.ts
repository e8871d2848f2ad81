/** The lines of slash commands: tools, agents, what was spent and what may be spent. */

import type { AgentDefinition } from "../../../core/agent.ts";
import { withDefaults } from "../../../core/errors.ts";
import { MAX_AGENT_TOOLS } from "../../../core/limits.ts";
import { DEFAULT_LIMITS } from "../../../core/words/limits.ts";
import { CHILD_TOOLS } from "../../../core/words/tools.ts";
import type { Application } from "../application/open.ts";
import type { Style } from "../terminal/style.ts";
import { breakLine, cost, cutToWidth, duration, inertLine, plural, tokens } from "../terminal/text.ts";
import { holdingLine, limitLine, limitsBefore, waitsForName } from "../view/limit-lines.ts";
import { endOf, sumOf } from "../view/live-lines.ts";
import type { RunTree } from "../view/run-tree.ts";
import { moreWords } from "./raise-budget.ts";
import type { CommandScene } from "./slash-commands.ts";

type FactsScene = Pick<CommandScene, "application" | "conversation" | "transcript" | "columns" | "style">;

export function toolLines(
  agent: AgentDefinition,
  { configuration, ruleOn }: Pick<Application, "configuration" | "ruleOn">,
  columns: number,
  style: Style,
): string[] {
  const own = Object.entries(agent.tools ?? {}).map(([key, each]): [string, string] => {
    const { name = key, description = "", tier } = each as { name?: string; description?: string; tier?: string };
    return [name, `${askingOf(name, tier, ruleOn)}${description}`];
  });
  const denied = new Set(agent.deny ?? []);
  const rows = [...own, ...(agent.delegate === true ? delegationRows(agent) : [])].filter(
    ([name]) => !denied.has(name),
  );
  if (agent.delegate !== true) return twoColumns(rows, columns, style);
  const { maxDepth } = configuration.agent.limits;
  return [...twoColumns(rows, columns, style), `Children may have children down to depth ${maxDepth}.`];
}

/** The tools that `delegate: true` gives; one that finds agents only where there are many. */
function delegationRows({ subagents = [] }: AgentDefinition): [name: string, about: string][] {
  const isMany = subagents.length > MAX_AGENT_TOOLS;
  return CHILD_TOOLS.flatMap(({ name, does, about }): [string, string][] =>
    about === undefined || (does === "find" && !isMany) ? [] : [[name, about]],
  );
}

/** Most rules about an agent or a tool of a server hold whatever its input is; about other tools the call decides. */
function askingOf(name: string, tier: string | undefined, ruleOn: Application["ruleOn"]): string {
  const rule = /^(?:subagent_|mcp__)/.test(name) ? ruleOn(name) : undefined;
  if (rule === "deny") return "refused by a rule. ";
  return rule === "ask" || (rule === undefined && tier === "confirm") ? "asks first. " : "";
}

export function agentLines({ application: { agents }, columns, style }: FactsScene): string[] {
  if (agents.length === 0) return ["No agents are defined; .sous/agents/NAME.md defines one for this folder."];
  const rows = agents.map(({ name, description = "" }): [string, string] => [`@${name}`, description]);
  return twoColumns(rows, columns, style);
}

export function costLines(tree: RunTree, now: number, columns: number, { glyphs }: Style): string[] {
  const nodes = tree.all();
  const { costUsd: spent, tokens: used, isEstimated } = sumOf(nodes);
  const time = tree.roots.reduce((sum, root) => sum + endOf(root, now) - root.startedAt, 0);
  const children = nodes.filter(({ status }) => status !== "queued").length - tree.roots.length;
  const metrics = [
    tokens(used, isEstimated),
    spent === 0 ? "$0.00" : cost(spent),
    plural(tree.roots.length, "message"),
    plural(children, "child", "children"),
    duration(time),
  ];
  const unknown = spent === null ? ["The price of a model that was used is not known."] : [];
  return [cutToWidth(metrics.join(glyphs.dot), columns, glyphs.more), ...unknown];
}

/** One line for each limit, then for each run that holds something of it or waits. */
export function budgetLines({ application, conversation, transcript, columns }: Omit<FactsScene, "style">): string[] {
  const { runOptions, agent, childrenPerMessage } = application;
  const { limits, runs } = conversation.spending() ?? {
    limits: limitsBefore(runOptions.budget, runOptions.limits?.children),
    runs: [],
  };
  const added = moreWords(conversation.more);
  const lines = conversation.keepsEarlierLimits
    ? ["The limits of the earlier conversation hold; they are shown after the next message."]
    : limits.map(limitLine);
  const isUnlimited = childrenPerMessage === undefined;
  if (lines.length === 0)
    lines.push(`Tokens, money${isUnlimited ? ", time and the number of children" : " and time"} are not limited.`);
  if (!isUnlimited && !conversation.keepsEarlierLimits) lines.push(`children: at most ${childrenPerMessage} a message`);
  if (added !== "") lines.push(`the whole tree: ${added} more with the next message`);
  if (agent.maxTurns !== undefined) lines.push(`turns: at most ${agent.maxTurns} a message`);
  const held = runs.map(holdingLine).filter((line) => line !== undefined);
  // One that waits to start holds nothing.
  const starting = transcript.tree.all().filter(({ status }) => status === "queued");
  for (const { path, waitsFor } of starting)
    if (waitsFor !== undefined) held.push(`${path}: has not started, ${waitsForName(waitsFor)}`);
  const more = held.length - MAX_HELD;
  if (more > 0) held.splice(MAX_HELD, more, `and ${plural(more, "run")} more that hold something or wait`);
  return [...lines, ...held].flatMap((line) => breakLine(line, columns));
}

/** With hundreds of children the limits themselves would scroll away. */
const MAX_HELD = 12;

/** The state of the conversation: its model and last run, what was used, and every limit. */
export function statusLines(scene: FactsScene): string[] {
  const { application, conversation, transcript, columns, style } = scene;
  const { agent, runId, isLive } = conversation;
  const model = typeof agent.model === "string" ? agent.model : "a model given in code";
  const run = runId === undefined ? "none yet" : `${inertLine(runId, 60)}, ${isLive ? "live" : "ended"}`;
  const { maxDepth, maxConcurrent } = withDefaults(DEFAULT_LIMITS, application.runOptions.limits);
  const lines = [
    `model: ${inertLine(model, 200)}`,
    `run: ${run}`,
    `used: ${costLines(transcript.tree, application.clock.now(), columns, style).join(" ")}`,
    `children: at most ${maxConcurrent} at once, down to depth ${maxDepth}`,
  ];
  return [...lines.flatMap((line) => breakLine(line, columns)), ...budgetLines(scene)];
}

function twoColumns(rows: readonly (readonly [string, string])[], columns: number, { glyphs }: Style): string[] {
  const width = Math.min(24, Math.max(...rows.map(([name]) => name.length), 0)) + 2;
  return rows.map(([name, about]) =>
    cutToWidth(`  ${inertLine(name, 64).padEnd(width - 2)}  ${inertLine(about, 300)}`, columns, glyphs.more),
  );
}
