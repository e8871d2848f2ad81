/** The answer to one ask in a given state of a shared budget, and what is set aside for earlier asks. */

import { type Amount, type AmountUnit, amountAt, beyond, NO_AMOUNT, outputThatFits, plus, UNITS } from "./amount.ts";
import type {
  SharedBudgetAnswer,
  SharedBudgetAsk,
  SharedBudgetShare,
  SharedBudgetState,
} from "./shared-budget-books.ts";

type AskCircumstances = {
  /** The amount that earlier runs wait for: no run overtakes them where they are short. */
  readonly awaited: Amount;
  /** It is the first of all, and nothing is in flight: it gets what there is. */
  readonly mayLower: boolean;
  /** The reserves of this process are gone. */
  readonly isVoid: boolean;
};

export function answerOf(
  state: SharedBudgetState,
  ask: SharedBudgetAsk,
  { awaited, mayLower, isVoid }: AskCircumstances,
): SharedBudgetAnswer {
  const { limits, spent, reserved } = state;
  const { prompt, perToken, least, enough, most } = ask.need;
  const limited = UNITS.flatMap((unit) => {
    const limit = limits[unit];
    return limit === undefined ? [] : [{ unit, unspent: limit - spent[unit] }];
  });
  if (limited.length === 0) return { kind: "granted", output: Number.POSITIVE_INFINITY };
  for (const { unit, unspent } of limited) {
    // The growth of a reserve is not part of what could never be paid: without it the run would wrap up instead.
    // guard: never-of-a-shared-budget
    if (outputThatFits(unspent - ask.above[unit], prompt[unit], perToken[unit]) < least) return { kind: "never" };
  }
  const instead = isVoid ? NO_AMOUNT : ask.instead;
  let output = most;
  for (const { unit, unspent } of limited) {
    const free = unspent - reserved[unit]; // guard: free-of-a-shared-budget
    // The reserve that a run has for this call is its own.
    const available = Math.min(free, Math.max(0, free - awaited[unit])) + instead[unit];
    output = Math.min(output, outputThatFits(available, prompt[unit] + ask.grow[unit], perToken[unit]));
  }
  return output < (mayLower ? least : enough) ? { kind: "wait" } : { kind: "granted", output };
}

/**
 * The amount that is set aside for earlier runs. Where one of them is short no run overtakes it; on other units it holds
 * up no run. One that is short of nothing has not asked again yet, and everything it needs is set aside.
 */
export function awaitedBy(state: SharedBudgetState, earlier: readonly Amount[], already: Amount): Amount {
  const { limits, spent, reserved } = state;
  let awaited = already;
  for (const need of earlier) {
    const isShort = (unit: AmountUnit) =>
      need[unit] > (limits[unit] ?? Number.POSITIVE_INFINITY) - spent[unit] - reserved[unit] - awaited[unit];
    const isServed = !UNITS.some(isShort);
    const part = (unit: AmountUnit) => (isServed || isShort(unit) ? need[unit] : 0);
    awaited = plus(awaited, { tokens: part("tokens"), nanoUsd: part("nanoUsd") });
  }
  return awaited;
}

export function withGranted(
  share: SharedBudgetShare,
  ask: SharedBudgetAsk,
  output: number,
  isVoid: boolean,
): SharedBudgetShare {
  const held = amountAt(ask.need, Math.min(output, ask.need.most));
  const kept = isVoid ? share.kept : beyond(share.kept, ask.instead);
  return { ...share, inFlight: plus(share.inFlight, held), kept: plus(kept, ask.grow) };
}

/** The amount that an ask waits for, beyond what it brings along. */
export function fullNeed({ need, grow, instead }: SharedBudgetAsk): Amount {
  return beyond(plus(amountAt(need, need.enough), grow), instead);
}

/** The amount that is enough for an ask when nothing is in flight, beyond what it brings along. */
export function leastNeed({ need, grow, instead }: SharedBudgetAsk): Amount {
  return beyond(plus(amountAt(need, need.least), grow), instead);
}
