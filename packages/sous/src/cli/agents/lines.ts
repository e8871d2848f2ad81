/** Agent files as people read them: in a list, one with all its rights, and with what is wrong. */

import type { AgentFile, AgentProblem } from "../../config/agents/file.ts";
import type { EffectiveRights } from "../../config/agents/rights.ts";
import { duration } from "../terminal/figures.ts";
import { inertLine } from "../terminal/inert.ts";
import type { Output } from "../terminal/output.ts";
import { cutToWidth, displayWidth } from "../terminal/width.ts";
import { amountOf, limitName } from "../view/limit-lines.ts";
import type { ConfiguredLimit } from "./limits.ts";

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

/** Everything an agent may do, with the place that says so. */
export function rightsLines(
  agent: AgentFile,
  rights: EffectiveRights,
  limits: readonly ConfiguredLimit[],
  { style }: Output,
): string[] {
  const { paint } = style;
  const rows: [string, string, string][] = [
    ...rights.tools.map(({ tool, isAllowed, from }): [string, string, string] => [
      tool,
      isAllowed ? "yes" : "no",
      from,
    ]),
    ...rights.rules.map(({ effect, pattern, from }): [string, string, string] => [pattern, effect, from]),
    ["children", rights.delegate.isAllowed ? "yes" : "no", rights.delegate.from],
    ["project notes", rights.notes.isRead ? "yes" : "no", rights.notes.from],
    ["model", rights.model.name, rights.model.from],
    ["max_turns", rights.maxTurns.value === undefined ? "100" : String(rights.maxTurns.value), rights.maxTurns.from],
    [
      "timeout",
      rights.timeoutMs.value === undefined ? "none" : duration(rights.timeoutMs.value),
      rights.timeoutMs.from,
    ],
    [
      "max_output_tokens",
      rights.maxOutputTokens.value === undefined ? "not set" : String(rights.maxOutputTokens.value),
      rights.maxOutputTokens.from,
    ],
    ...limits.map((limit): [string, string, string] => [
      limitName(limit),
      `at most ${amountOf(limit.unit, limit.limit)}`,
      `${limit.from} (${limit.setting})`,
    ]),
    ["instructions", `${rights.promptBytes} bytes`, agent.file],
  ];
  const shown = rows.map((row) => row.map((cell) => inertLine(cell, 200)));
  const widths = [0, 1].map((column) => Math.max(...shown.map((row) => displayWidth(row[column] ?? ""))));
  return [
    `${paint("bold", inertLine(agent.name, 60))}  ${agent.dialect} file of the ${agent.scope}: ${inertLine(agent.file)}`,
    ...(agent.description === undefined ? [] : [`  ${inertLine(agent.description, 1000)}`]),
    "",
    ...shown.map(([what = "", value = "", from = ""]) => {
      const colour = value === "no" || value === "deny" ? "yellow" : "green";
      return `  ${pad(what, widths[0])}  ${paint(colour, pad(value, widths[1]))}  ${paint("dim", from)}`;
    }),
  ];
}

function pad(text: string, width = 0): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** `file:line:column`, so that editors find it. */
export function problemLines(problems: readonly AgentProblem[], { style }: Pick<Output, "style">): string[] {
  return problems.flatMap(({ code, file, line, column, severity, message, fix }) => [
    `${inertLine(file)}:${line}:${column}: ${style.paint(severity === "error" ? "red" : "yellow", severity)} ${code}: ${inertLine(message, 600)}`,
    `   ${style.paint("cyan", "fix")}   ${inertLine(fix, 600)}`,
  ]);
}
