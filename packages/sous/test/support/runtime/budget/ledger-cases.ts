/** Rules of the ledger that single cases show: each case turns out differently when its rule is removed. */

import assert from "node:assert/strict";
import { BudgetExceeded } from "../../../../src/core/errors.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import type { Slots } from "../../../../src/runtime/budget/run-slots.ts";
import type { Mutation } from "../../mutation.ts";
import { ask, begin, lend, need, open, queue, spend, start, stateOf, tokens, waitToStart } from "./ledger-runs.ts";

export type Open = typeof openLedger;

export type Case = {
  readonly rule: string;
  readonly mutation: Mutation;
  /** What the rule makes of the case, and what becomes of it without the rule. */
  readonly outcome: string;
  readonly without: string;
  run(ledger: Open): Promise<string>;
};

export const LEDGER_CASES: readonly Case[] = [
  {
    rule: "others get what there is only when the run that settled last has taken its next step",
    mutation: { guard: "quiet-meter", replace: "return this.inFlight === 0;" },
    outcome: "waits",
    without: "granted",
    async run(ledger) {
      const account = open({ tokens: 2_000 }, 10, ledger);
      const first = lend(account.enter("older"), need(400));
      const waiting = queue(account.enter("younger"), need(500));
      spend(first, 700);
      return await stateOf(waiting);
    },
  },
  {
    rule: "a run stands in the line before what there is goes to the first in order",
    mutation: { guard: "queue-before-step", replace: "holder.takeStep();\ninsert(this.#live, waiter);" },
    outcome: "waits",
    without: "granted",
    async run(ledger) {
      const account = open({ tokens: 2_000 }, 10, ledger);
      const older = account.enter("older");
      const first = lend(older, need(400));
      const waiting = queue(account.enter("younger"), need(500));
      spend(first, 700);
      void ask(older, need(800));
      return await stateOf(waiting);
    },
  },
  {
    rule: "what the runs above keep does not count as something that could come back",
    mutation: { guard: "never-enough", replace: "const within = meter.limit - meter.spent;" },
    outcome: "refused",
    without: "waits",
    async run(ledger) {
      const account = open({ tokens: 5_000 }, 10, ledger);
      const parent = account.enter("parent");
      spend(lend(parent, need(100, { outputCap: 3_000 })), 1_000, tokens(2_000));
      return await stateOf(Promise.resolve().then(() => start(account, "child", need(3_000), { above: parent })));
    },
  },
  {
    rule: "a share does not count on what the runs above keep",
    mutation: { guard: "share-within-limit", replace: "return limit > meter.limit - meter.spent;" },
    outcome: "refused",
    without: "granted",
    async run(ledger) {
      const account = open({ tokens: 5_000 }, 10, ledger);
      const above = account.enter("parent");
      spend(lend(above, need(100, { outputCap: 3_000 })), 1_000, tokens(2_000));
      return await stateOf(Promise.resolve().then(() => account.open({ tokens: 3_000 }, { path: "child", above })));
    },
  },
  {
    rule: "of children that wait to start the last is refused first",
    mutation: {
      guard: "refuse-the-last",
      replace: "return this.#starters.find(draws) ?? this.#live.findLast(draws);",
    },
    outcome: "waits, refused",
    without: "refused, waits",
    async run(ledger) {
      const account = open({ tokens: 10_000 }, 10, ledger);
      const [one, two, last] = [account.enter("one"), account.enter("two"), account.enter("last")];
      for (const run of [one, two, last]) {
        spend(lend(run, need(100, { outputCap: 3_000 })), 1_000, tokens(2_000));
        run.takeStep();
      }
      using _one = one.runCall();
      using _two = two.runCall();
      const first = waitToStart(account, "first", need(2_000), { above: one, callId: "1" });
      const second = waitToStart(account, "second", need(2_000), { above: two, callId: "1" });
      void queue(last, need(2_000));
      return `${await stateOf(first)}, ${await stateOf(second)}`;
    },
  },
  {
    rule: "a child that could never be paid does not wait for a slot",
    mutation: { guard: "hopeless-start" },
    outcome: "refused",
    without: "waits",
    async run(ledger) {
      const account = open({ tokens: 3_000 }, 1, ledger);
      void start(account, "running", need(500));
      return await stateOf(Promise.resolve().then(() => start(account, "child", need(2_950))));
    },
  },
];

/** A run waits that started before the parent of a child that can not be paid now. */
export function olderBesideAChild(ledger: Open): Promise<unknown> {
  const account = open({ tokens: 10_000 }, 10, ledger);
  const [older, parent] = [account.enter("older"), account.enter("parent")];
  for (const run of [older, parent]) spend(lend(run, need(100, { outputCap: 4_000 })), 2_000, tokens(2_000));
  parent.takeStep();
  const waiting = queue(older, need(3_000));
  using _ = parent.runCall();
  try {
    void waitToStart(account, "child", need(3_000), { above: parent, callId: "1" });
  } catch (error) {
    assert.ok(error instanceof BudgetExceeded);
  }
  return waiting;
}

/** The only slot belongs to a child that waits for budget; its parent rests. */
export function fullGate(gate: typeof Slots) {
  const account = openLedger({ tokens: 10_000 }, { slots: new gate(1, "queue") });
  const { holding: parent, slot, first } = begin(account, "parent", need(100, { outputCap: 5_000 }));
  spend(first, 2_000, tokens(3_000));
  slot.rest();
  const child = begin(account, "child", need(100, { outputCap: 4_000 }));
  spend(child.first, 1_000);
  child.holding.takeStep();
  const youngest = queue(child.holding, need(3_950));
  return { youngest, parent, wake: (callId?: string) => slot.wake(new Scope(), parent, callId) };
}
