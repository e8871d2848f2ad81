/** Limits in words: what may be spent, what is spent and reserved of it, and which run holds what. */

import type { Budget, HoldingState, LimitState } from "../../../core/limits.ts";
import { BUDGET_UNITS } from "../../../core/words/limits.ts";
import { displayWidth, duration, inertLine, tokens } from "../terminal/text.ts";

/** The limits of a run that has not begun. `children` are those of `agent.subagent` in the configuration. */
export function limitsBefore(tree: Budget = {}, children: Budget = {}): LimitState[] {
  return [...unused("tree", tree), ...unused("children", children)];
}

function unused(of: "tree" | "children", budget: Budget): LimitState[] {
  return BUDGET_UNITS.flatMap((unit) => {
    const limit = budget[unit];
    return limit === undefined ? [] : [{ of, unit, limit, spent: 0, reserved: 0 }];
  });
}

/** `tokens of all children: 3900 spent, 4800 reserved, 1300 left of 10000`. */
export function limitLine(limit: LimitState): string {
  const { unit, spent, reserved, limit: max } = limit;
  const amount = (value: number): string => amountOf(unit, value);
  const name = limitName(limit);
  const left = `${amount(Math.max(0, max - spent - reserved))} left of ${amount(max)}`;
  if (unit === "durationMs") return `${name}: ${amount(spent)} used, ${left}`;
  if (unit === "executions") {
    const queued = reserved > 0 ? `${reserved} queued, ` : "";
    return `${name}: ${amount(spent)}, ${queued}${left}`;
  }
  return `${name}: ${amount(spent)} spent, ${amount(reserved)} reserved, ${left}`;
}

/** `tokens of the whole tree`, `children started`. */
export function limitName({ of, unit }: Pick<LimitState, "of" | "unit">): string {
  if (unit !== "executions") return `${NAMES[unit]} of ${whose(of)}`;
  return of === "children" ? "children started" : `children started, of ${whose(of)}`;
}

const NAMES = { tokens: "tokens", costUsd: "money", durationMs: "time" } as const;

function whose(of: string): string {
  if (of === "tree") return "the whole tree";
  return of === "children" ? "all children" : inertLine(of, 200);
}

/** `10000`, `$1.0000`, `1m00s`, `5`. */
export function amountOf(unit: LimitState["unit"], value: number): string {
  if (unit === "costUsd") return `$${value.toFixed(4)}`;
  return unit === "durationMs" ? duration(value) : String(Math.round(value));
}

/** Says what a row of the live region waits for; shorter where it does not fit. */
export function waitWords(limit: LimitState, columns: number = Number.POSITIVE_INFINITY): string {
  const { of, unit, spent, reserved, limit: max } = limit;
  const short = (value: number): string => (unit === "tokens" ? shortTokens(value) : amountOf(unit, value));
  const name = unit === "tokens" ? " tokens" : "";
  const amounts = `${short(spent)} spent, ${short(reserved)} reserved of ${short(max)}`;
  const words = `waits for its budget: ${amounts}${name}`;
  const shorter = [`${words} of ${whose(of)}`, words, `waits for budget: ${amounts}`, `budget: ${amounts}`];
  return shorter.find((each) => displayWidth(each) <= columns) ?? "waits for its budget";
}

/** `4.8k`, `10k`. */
export function shortTokens(count: number): string {
  return tokens(count, false).replace(/ tok$/, "").replace(".0", "");
}

/** The same limit as it stands now, where that is known. */
export function asItStands(limit: LimitState, now: readonly LimitState[] = []): LimitState {
  return now.find(({ of, unit }) => of === limit.of && unit === limit.unit) ?? limit;
}

/** Says what a run holds or waits for; undefined for one that does neither. */
export function holdingLine({ path, inCall, kept, waitsFor }: HoldingState): string | undefined {
  const words = [
    held(inCall, "reserved by its call"),
    held(kept, "kept for its last words"),
    waitsFor === undefined ? "" : waitsForName(waitsFor),
  ].filter((part) => part !== "");
  return words.length === 0 ? undefined : `${inertLine(path, 200)}: ${words.join(", ")}`;
}

/** Says only which limit it waits for, in a list that shows the limit itself above. */
export function waitsForName(limit: LimitState): string {
  return `waits for ${limitName(limit)}`;
}

function held({ tokens: count = 0, costUsd = 0 }: HoldingState["inCall"], how: string): string {
  const amounts = [
    count > 0 ? `${Math.round(count)} tokens` : "",
    costUsd > 0 ? amountOf("costUsd", costUsd) : "",
  ].filter((amount) => amount !== "");
  return amounts.length === 0 ? "" : `${amounts.join(" and ")} ${how}`;
}
