/** The lines of `sous agents`: a list of agent files, one with all its rights and limits, and what is wrong with them; and the settings it needs for that. */

import type { LimitState } from "../../../core/limits.ts";
import { TURNS } from "../../../core/words/limits.ts";
import type { AgentFile, AgentProblem } from "../../config/agents/file.ts";
import type { EffectiveRights } from "../../config/agents/rights.ts";
import type { Configuration } from "../../config/configuration.ts";
import { LIMIT_SETTINGS } from "../../config/limit-settings.ts";
import { ConfigurationError, whereIs } from "../../config/problem.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import { readConfiguration } from "../application/project.ts";
import type { ProcessContext } from "../files/paths.ts";
import type { OptionValues } from "../table/options.ts";
import type { AGENTS } from "../table/setup-entries.ts";
import type { Output } from "../terminal/output.ts";
import { cutToWidth, displayWidth, duration, fillToWidth, inertLine, plural } from "../terminal/text.ts";
import { amountOf, limitName, limitsBefore } from "../view/limit-lines.ts";

export type AgentsRequest = { readonly values: OptionValues<typeof AGENTS>; readonly output: Output };

/** One line each: name, tools, model, file; and below it what it is for. */
export function agentLines(agents: readonly AgentFile[], { columns, style }: Output): string[] {
  const { paint, glyphs } = style;
  return agents.flatMap((agent) => {
    const name = inertLine(agent.name, 60);
    const facts = [toolsOf(agent), inertLine(agent.model ?? "inherit", 80), `${agent.scope}: ${inertLine(agent.file)}`];
    const rest = cutToWidth(facts.join(glyphs.dot), columns - displayWidth(name) - 2, glyphs.more);
    const about = inertLine(agent.description ?? "", 300);
    return [
      `${paint("bold", name)}  ${rest}`,
      ...(about === "" ? [] : [paint("dim", `  ${cutToWidth(about, columns - 2, glyphs.more)}`)]),
    ];
  });
}

function toolsOf({ tools, deny }: AgentFile): string {
  const denied = deny.length === 0 ? "" : ` without ${deny.join(" ")}`;
  if (tools === undefined) return `inherited tools${denied}`;
  const left = tools.filter((tool) => !deny.includes(tool));
  return left.length === 0 ? "no tools" : left.join(" ");
}

type RightsRow = [what: string, value: string, from: string];

/** Everything an agent may do, and which file or setting says so. */
export function rightsLines(
  agent: AgentFile,
  rights: EffectiveRights,
  limits: readonly ConfiguredLimit[],
  { style }: Output,
): string[] {
  const { paint } = style;
  const { delegate, notes, model, maxTurns, timeoutMs, maxOutputTokens } = rights;
  const yesOrNo = (isAllowed: boolean): string => (isAllowed ? "yes" : "no");
  const rows: RightsRow[] = [
    ...rights.tools.map(({ tool, isAllowed, from }): RightsRow => [tool, yesOrNo(isAllowed), from]),
    ...rights.rules.map(({ effect, pattern, from }): RightsRow => [pattern, effect, from]),
    ["children", yesOrNo(delegate.isAllowed), delegate.from],
    ["project notes", yesOrNo(notes.isRead), notes.from],
    ["model", model.name, model.from],
    ["max_turns", String(maxTurns.value ?? TURNS.named), maxTurns.from],
    ["timeout", timeoutMs.value === undefined ? "none" : duration(timeoutMs.value), timeoutMs.from],
    ["max_output_tokens", String(maxOutputTokens.value ?? "not set"), maxOutputTokens.from],
    ...rights.asking.map(({ key, value, from }): RightsRow => [key, value, from]),
    ...limits.map((limit): RightsRow => {
      const { unit, limit: max, from, setting } = limit;
      return [limitName(limit), `at most ${amountOf(unit, max)}`, `${from} (${setting})`];
    }),
    ["instructions", plural(rights.promptBytes, "byte"), agent.file],
  ];
  const shown = rows.map((row) => row.map((cell) => inertLine(cell, 200)));
  const [left = 0, right = 0] = [0, 1].map((column) =>
    Math.max(...shown.map((row) => displayWidth(row[column] ?? ""))),
  );
  return [
    `${paint("bold", inertLine(agent.name, 60))}  ${agent.dialect} file of the ${agent.scope}: ${inertLine(agent.file)}`,
    ...(agent.description === undefined ? [] : [`  ${inertLine(agent.description, 1000)}`]),
    "",
    ...shown.map(([what = "", value = "", from = ""]) => {
      const colour = value === "no" || value === "deny" ? "yellow" : "green";
      return `  ${fillToWidth(what, left)}  ${paint(colour, fillToWidth(value, right))}  ${paint("dim", from)}`;
    }),
  ];
}

/** `file:line:column`, so that editors find it. */
export function problemLines(problems: readonly AgentProblem[], { style }: Pick<Output, "style">): string[] {
  return problems.flatMap(({ code, file, line, column, severity, message, fix }) => [
    `${inertLine(file)}:${line}:${column}: ${style.paint(severity === "error" ? "red" : "yellow", severity)} ${code}: ${inertLine(message, 600)}`,
    `   ${style.paint("cyan", "fix")}   ${inertLine(fix, 600)}`,
  ]);
}

export type ConfiguredLimit = LimitState & {
  /** `agent.subagent.max_total_tokens`. */
  readonly setting: string;
  /** The file and line, or the variable. */
  readonly from: string;
};

/** The settings that agent files are judged by. */
export type AgentSettings = {
  /** Undefined when it has mistakes, so that an agent is not blamed for them. */
  readonly configuration: Configuration | undefined;
  /** The budget of all children together. */
  readonly limits: readonly ConfiguredLimit[];
  /** The reason why the limits are not known. */
  readonly problem: string | undefined;
};

export async function settingsFor(context: ProcessContext, trust: ProjectTrust): Promise<AgentSettings> {
  const project = trust.state === "trusted" ? trust : undefined;
  try {
    const { configuration, origins } = await readConfiguration({
      flags: { configFile: undefined },
      ...context,
      project,
    });
    const limits = limitsBefore({}, configuration.agent.limits.children).map((limit) => {
      const setting = LIMIT_SETTINGS[`limits.children.${limit.unit}`].key;
      return { ...limit, setting, from: origins.get(setting)?.origin.where ?? "" };
    });
    return { configuration, limits, problem: undefined };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [first] = error.problems;
    const where = first === undefined ? "" : ` (${whereIs(first)})`;
    const problem = `the limits of the configuration are not known, because it has mistakes${where}: sous config check shows them`;
    return { configuration: undefined, limits: [], problem };
  }
}
