/** Opens a shared budget on the rows of a store, and decides which processes count as dead. */

import { checkWord, messageOf, StoreError, UserError } from "../../core/errors.ts";
import {
  BUDGET_ROW_UNITS,
  type BudgetLine,
  type BudgetRow,
  type BudgetRows,
  checkSharedName,
  type MadeBudget,
  type OpenedBudget,
  type SharedBudgetOptions,
  type SharedLimits,
  toGivenLimits,
  toSharedLimits,
  unreachable,
} from "../../core/shared-budget.ts";
import { isGone, isRunning } from "./owner.ts";

const NOTHING = { tokens: 0, nanoUsd: 0, executions: 0 } as const;

export async function openSharedBudget(
  rows: BudgetRows,
  name: string,
  limits?: SharedLimits,
  { existing = "join" }: SharedBudgetOptions = {},
): Promise<OpenedBudget> {
  checkSharedName(name);
  checkWord("existing", existing, ["join", "replace"]);
  const wanted = limits === undefined ? undefined : toGivenLimits(limits);
  if (wanted !== undefined) {
    await rows.make({ name, limits: wanted, spent: NOTHING, replaces: existing === "replace" });
  }
  const found = limitsIn(await rows.look(name));
  if (found === undefined)
    throw new UserError(`There is no shared budget ${JSON.stringify(name)}: give its limits to make it`);
  if (wanted !== undefined && BUDGET_ROW_UNITS.some((unit) => found[unit] !== wanted[unit]))
    throw otherLimits(name, found);
  const there = async () => {
    const now = await rows.look(name);
    if (now.length === 0) throw unreachable(name, undefined, "it is no longer in the store");
    return now;
  };
  return {
    name,
    rows,
    async left() {
      const left: Partial<Record<BudgetRow["unit"], number>> = {};
      for (const { unit, limit, spent, inFlight, kept } of await there())
        if (limit !== undefined) left[unit] = Math.max(0, limit - spent - inFlight - kept);
      return toSharedLimits(left);
    },
    async spent() {
      const spent = Object.fromEntries((await there()).map((row) => [row.unit, row.spent]));
      return { tokens: 0, costUsd: 0, executions: 0, ...toSharedLimits(spent) };
    },
  };
}

function limitsIn(rows: readonly BudgetRow[]): MadeBudget["limits"] | undefined {
  if (rows.length === 0) return undefined;
  const limitOf = (wanted: BudgetRow["unit"]) => rows.find(({ unit }) => unit === wanted)?.limit;
  return { tokens: limitOf("tokens"), nanoUsd: limitOf("nanoUsd"), executions: limitOf("executions") };
}

function otherLimits(name: string, limits: MadeBudget["limits"]): UserError {
  const { tokens, costUsd, executions } = toSharedLimits(limits);
  const words = [
    tokens === undefined ? [] : `${tokens} tokens`,
    costUsd === undefined ? [] : `$${costUsd}`,
    executions === undefined ? [] : `${executions} executions`,
  ];
  return new UserError(
    `The shared budget ${JSON.stringify(name)} has other limits (${words.flat().join(", ")}): join it without limits, or set them for all users with { existing: "replace" }`,
  );
}

/** Names the budget in what a store throws. */
export function explained<T>(name: string, work: () => T | Promise<T>): T | Promise<T> {
  const explain = (error: unknown): never => {
    throw error instanceof StoreError ? unreachable(name, error, messageOf(error)) : error;
  };
  try {
    const result = work();
    return result instanceof Promise ? result.catch(explain) : result;
  } catch (error) {
    return explain(error);
  }
}

/** The rows stay whole numbers, whatever a process sends. What is no number may be anything: nothing more is spent then. */
export function inWholeUnits(line: BudgetLine): BudgetLine {
  const { name, unit, spent, inFlight, kept } = line;
  return { name, unit, spent: whole(spent), inFlight: whole(inFlight), kept: whole(kept) };
}

export const MAX_FIGURE: number = Number.MAX_SAFE_INTEGER;

function whole(figure: number): number {
  return Number.isNaN(figure) ? MAX_FIGURE : Math.min(MAX_FIGURE, Math.max(-MAX_FIGURE, Math.ceil(figure)));
}

/** Milliseconds for which a process counts as alive after its last step. */
export const LEASE_MS = 30_000;
/** A process that has not come back in this time does not come back. */
const MAX_ABSENCE_MS = 7 * 24 * 3_600_000;

/** The knowledge about a process: `gone` for certain, or `late` and not seen running. */
export type Fate = "alive" | "late" | "gone";
export type FateOf = (owner: string, absenceMs: number) => Fate;

/** The rule for every store; `isGone` may know more than this machine does. */
export function fateBy(knowsGone: (owner: string) => boolean = isGone): FateOf {
  return (owner, absenceMs) => {
    if (knowsGone(owner)) return "gone";
    // A clock that was set back must not keep the dead alive either.
    if (isRunning(owner) || Math.abs(absenceMs) <= LEASE_MS) return "alive";
    return Math.abs(absenceMs) > MAX_ABSENCE_MS ? "gone" : "late";
  };
}
