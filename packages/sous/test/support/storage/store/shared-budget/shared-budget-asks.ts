/** A process that draws on the rows of a store, one step at a time, as the tests of shared budgets need it. */

import assert from "node:assert/strict";
import type { Amount } from "../../../../../src/core/amount.ts";
import {
  type BudgetLine,
  type BudgetReply,
  type BudgetRow,
  type BudgetRows,
  type BudgetRowUnit,
  type BudgetStep,
  NO_FIGURES,
  type SharedBudget,
  type SharedBudgets,
  type SharedLimits,
} from "../../../../../src/core/shared-budget.ts";
import { opened } from "./opened.ts";

export function tokens(amount: number): Amount {
  return { tokens: amount, nanoUsd: 0 };
}

/** What is asked of one budget, or given back with a minus sign. */
export type Change = { readonly name?: string } & Partial<Omit<BudgetLine, "name">>;

/** A call that holds this many tokens. */
export function inFlight(amount: number, name?: string): Change {
  return { inFlight: amount, ...(name === undefined ? {} : { name }) };
}

/** A call of this many tokens that has spent that many. */
export function settled(held: number, spent: number, name?: string): Change {
  return { inFlight: -held, spent, ...(name === undefined ? {} : { name }) };
}

/** Numbers its steps, as a process does. */
export class BudgetProcess {
  readonly shared: SharedBudget;
  readonly rows: BudgetRows;
  number = 1;
  lapses = 0;

  constructor(shared: SharedBudget) {
    this.shared = shared;
    this.rows = opened(shared).rows;
  }

  left(): ReturnType<SharedBudget["left"]> {
    return this.shared.left();
  }

  spent(): ReturnType<SharedBudget["spent"]> {
    return this.shared.spent();
  }

  /** One step, whose answer is heard. */
  async step(
    gives: readonly Change[] = [],
    asks: readonly Change[] = [],
    more: Partial<BudgetStep> = {},
  ): Promise<BudgetReply> {
    const reply = await this.send(gives, asks, more);
    if (reply.isTaken) this.number += 1;
    this.lapses = reply.lapses;
    return reply;
  }

  /** One step whose answer gets lost: the next one is the same again. */
  async send(
    gives: readonly Change[] = [],
    asks: readonly Change[] = [],
    more: Partial<BudgetStep> = {},
  ): Promise<BudgetReply> {
    const lines = [gives, asks].map((changes) => changes.map((change) => lineOf(change, this.shared.name)));
    const names = [...new Set([...lines.flat().map(({ name }) => name), this.shared.name])];
    return this.rows.step({
      ...{ number: this.number, lapses: this.lapses, made: [], waits: [], names },
      ...{ gives: lines[0] ?? [], asks: lines[1] ?? [] },
      ...more,
    });
  }

  /** Expects that everything is granted, or nothing. */
  async granted(...asks: Change[]): Promise<void> {
    assert.deepEqual(await this.ask(...asks), true, JSON.stringify(asks));
  }

  async refused(...asks: Change[]): Promise<void> {
    assert.deepEqual(await this.ask(...asks), false, JSON.stringify(asks));
  }

  async ask(...asks: Change[]): Promise<boolean> {
    const { isTaken, isGranted } = await this.step([], asks);
    return isTaken && isGranted;
  }

  async row(unit: BudgetRowUnit = "tokens", name: string = this.shared.name): Promise<BudgetRow | undefined> {
    return (await this.rows.look(name)).find((row) => row.unit === unit);
  }
}

function lineOf(change: Change, name: string): BudgetLine {
  return { name, unit: "tokens", ...NO_FIGURES, ...change };
}

/** The same budget, drawn on by two processes. */
export async function twoProcesses(
  { one, other }: { one: SharedBudgets; other: SharedBudgets },
  limits: SharedLimits,
): Promise<{ here: BudgetProcess; there: BudgetProcess }> {
  const here = new BudgetProcess(await one.sharedBudget("team", limits));
  const there = new BudgetProcess(await other.sharedBudget("team"));
  return { here, there };
}
