/** What slash commands tell: tools, agents, what was spent, what may be spent. */

import type { AgentDefinition } from "../../core/agent.ts";
import type { Application } from "../application.ts";
import { cost, duration, plural, tokens } from "../figures.ts";
import { inertLine } from "../inert.ts";
import type { RunTree } from "../run-tree.ts";
import type { Style } from "../style.ts";
import { cutToWidth } from "../width.ts";

/** What `delegate: true` adds; a test compares them with what a model is offered. */
export const DELEGATION_TOOLS: readonly (readonly [name: string, about: string])[] = [
  ["subagent", "hand a task to a child and wait for its report"],
  ["parallel_subagent", "several children at once"],
  ["subagent_send", "say something more to a child"],
  ["subagent_report", "the whole of a report that was cut"],
  ["subagent_list", "the children so far"],
  ["subagent_wait", "wait for children in the background"],
  ["subagent_cancel", "stop a child"],
];

export function toolLines(
  agent: AgentDefinition,
  { configuration }: Application,
  columns: number,
  style: Style,
): string[] {
  const own = Object.entries(agent.tools ?? {}).map(([key, each]): [string, string] => {
    const { name = key, description = "", tier } = each as { name?: string; description?: string; tier?: string };
    return [name, `${tier === "confirm" ? "asks first. " : ""}${description}`];
  });
  const denied = new Set(agent.deny ?? []);
  const rows = [...own, ...(agent.delegate === true ? DELEGATION_TOOLS : [])].filter(([name]) => !denied.has(name));
  const { maxDepth } = configuration.agent.subagent;
  return [...twoColumns(rows, columns, style), `Children may have children down to depth ${maxDepth}.`];
}

export function agentLines({ agents }: Application, columns: number, style: Style): string[] {
  if (agents.length === 0) return ["No agents are defined; .sous/agents/NAME.md defines one for this folder."];
  const rows = agents.map(({ name, description = "" }): [string, string] => [`@${name}`, description]);
  return twoColumns(rows, columns, style);
}

export function costLines(tree: RunTree, columns: number, { glyphs }: Style): string[] {
  const nodes = tree.all();
  const costs = nodes.map((node) => node.costUsd);
  const spent = costs.includes(null) ? null : costs.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const used = nodes.reduce((sum, node) => sum + node.tokens, 0);
  const isEstimated = nodes.some((node) => node.isEstimated);
  const time = tree.roots.reduce((sum, root) => sum + (root.endedAt ?? root.heardAt) - root.startedAt, 0);
  const children = nodes.length - tree.roots.length;
  const figures = [
    tokens(used, isEstimated),
    spent === 0 ? "$0.00" : cost(spent),
    plural(tree.roots.length, "message"),
    plural(children, "child", "children"),
    duration(time),
  ];
  const unknown = spent === null ? ["The price of a model that was used is not known."] : [];
  return [cutToWidth(figures.join(glyphs.dot), columns, glyphs.more), ...unknown];
}

export function budgetLines({ runOptions, agent }: Application, tree: RunTree, columns: number): string[] {
  const { tokens: most, costUsd, seconds, executions } = runOptions.budget ?? {};
  const used = tree.all().reduce((sum, node) => sum + node.tokens, 0);
  const limits = [
    most === undefined ? "" : `${used} of ${most} tokens`,
    costUsd === undefined ? "" : `at most $${costUsd}`,
    seconds === undefined ? "" : `at most ${duration(seconds * 1000)}`,
    executions === undefined ? "" : `at most ${plural(executions, "child", "children")}`,
    agent.maxTurns === undefined ? "" : `${plural(agent.maxTurns, "turn")} a message`,
  ].filter((limit) => limit !== "");
  return [cutToWidth(limits.length === 0 ? "Nothing is limited." : limits.join(", "), columns)];
}

function twoColumns(rows: readonly (readonly [string, string])[], columns: number, { glyphs }: Style): string[] {
  const width = Math.min(24, Math.max(...rows.map(([name]) => name.length), 0)) + 2;
  return rows.map(([name, about]) =>
    cutToWidth(`  ${inertLine(name, 60).padEnd(width)}${inertLine(about, 300)}`, columns, glyphs.more),
  );
}
