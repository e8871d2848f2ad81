/** Which tools the root has, from `--tools`, `--deny-tools` and `--no-delegate`. What it may not use, nothing below it may. */

import { nearest } from "../core/nearest.ts";
import type { Tool } from "../core/tool.ts";
import { usageError } from "./exit-codes.ts";
import { inertLine } from "./inert.ts";
import type { RunRights } from "./run-flags.ts";

export type ToolChoice = {
  /** Those that are not for children. */
  readonly tools: readonly Tool[];
  /** Whether it may have children at all. */
  readonly delegates: boolean;
  readonly deny: readonly string[];
};

export type ToolOffer = {
  readonly tools: readonly Tool[];
  /** The names of agents that can be called. */
  readonly agents: readonly string[];
  /** How many children may start; undefined when that is not limited. */
  readonly maxChildren: number | undefined;
};

/** They start children of any kind. */
const GENERIC = ["subagent", "parallel_subagent"];
/** They come along with whatever starts children. */
const COMPANIONS = ["subagent_send", "subagent_report", "subagent_wait", "subagent_cancel", "subagent_list"];

/** Throws a usage error for a name that no tool has. `--tools` is the exact list: what starts children must be named. */
export function chooseTools({ tools, agents, maxChildren }: ToolOffer, rights: RunRights): ToolChoice {
  const { tools: only, denyTools, noDelegate } = rights;
  const starting = [...GENERIC, ...agents.map((name) => `subagent_${name}`)];
  const known = [...tools.map(({ name }) => name), ...starting, ...COMPANIONS];
  const unknown = [...(only ?? []), ...denyTools].find((name) => !known.includes(name));
  if (unknown !== undefined) throw usageError(unknownTool(unknown, known));
  const left = starting.filter((name) => (only?.includes(name) ?? true) && !denyTools.includes(name));
  const isOff = noDelegate || maxChildren === 0 || denyTools.includes("subagent") || left.length === 0;
  return {
    tools: tools.filter(({ name }) => only?.includes(name) ?? true),
    delegates: !isOff,
    deny: isOff ? denyTools : [...new Set([...denyTools, ...starting.filter((name) => !left.includes(name))])],
  };
}

function unknownTool(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return `There is no tool ${inertLine(name, 80)}${hint === "" ? ";" : hint} there are ${inertLine(known.join(", "), 2000)}`;
}
