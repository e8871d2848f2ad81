/** One process of R4: races others for a shared budget in a SQLite file, and says what came of it. Told what to do by its parent. */

import { flushCompileCache } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import { agent } from "../../src/core/agent.ts";
import { NO_AMOUNT } from "../../src/core/amount.ts";
import type { Random } from "../../src/core/clock.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Account, CallNeed, Lease } from "../../src/core/limits.ts";
import type { Model } from "../../src/core/model.ts";
import { RunError } from "../../src/core/runtime.ts";
import { Scope } from "../../src/core/scope.ts";
import type { SharedBudget } from "../../src/core/shared-budget.ts";
import { noUsage } from "../../src/core/usage.ts";
import { systemHost } from "../../src/machine/host.ts";
import { openLedger } from "../../src/runtime/budget/ledger.ts";
import { Slots } from "../../src/runtime/budget/run-slots.ts";
import { sharedChainOf } from "../../src/runtime/budget/shared-budget-client.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { between, chance, seededRandom } from "../../src/testing/world.ts";
import { opened } from "../support/storage/store/shared-budget/opened.ts";
import { tokens } from "../support/storage/store/shared-budget/shared-budget-asks.ts";

/** What the parent says of each race. */
export type RaceTask = { seed: number; name: string; kind: RaceKind; callers: number };

/** `calls` and `trees` want more than there is; `enough` has enough for everybody. */
export type RaceKind = "calls" | "trees" | "enough";

export type RaceReport = {
  name: string;
  /** Units that a provider would bill. */
  tokens: number;
  executions: number;
  calls: number;
  refused: number;
  /** The least that a call which was refused would have taken. */
  leastRefused: number | null;
  faults: string[];
};

/** What each call of a race with enough for everybody asks for, spends and keeps. */
export const ENOUGH = { calls: 3, prompt: 100, output: 100, spent: 160, lastWords: 150 } as const;

let runs = 0;

const [, , file = ""] = process.argv;
const store = await openSqliteStore(file);
const { clock } = systemHost();
const runtime = createRuntime({ store });
// For those who come after it: nobody can keep anything when he is killed.
flushCompileCache();

process.on("message", (task: RaceTask) => void race(task));
process.on("disconnect", () => process.exit());
process.send?.("ready");

async function race({ seed, name, kind, callers }: RaceTask): Promise<void> {
  const report: RaceReport = { name, tokens: 0, executions: 0, calls: 0, refused: 0, leastRefused: null, faults: [] };
  try {
    const shared = await store.sharedBudget(name);
    const random = seededRandom(seed, `${name} ${process.pid}`);
    const tree = openLedger({}, { slots: new Slots(1_000, "queue"), shared: sharedChainOf(opened(shared), clock) });
    const one = { calls: () => callsOn(tree, random, report), trees: () => treeOn(shared, random, report), enough };
    function enough(): Promise<void> {
      return enoughOn(tree, report);
    }
    await Promise.all(Array.from({ length: callers }, () => one[kind]()));
    await tree.flushed();
  } catch (error) {
    report.faults.push(String(error));
  }
  process.send?.(report);
}

/** A run that keeps nothing back for last words, so that a refusal must be right to the unit. */
async function callsOn(tree: Account, random: Random, report: RaceReport): Promise<void> {
  const needs = Array.from({ length: between(random, 1, 3) }, () => needOf(20 + between(random, 0, 80)));
  await runOn(tree, report, needs, async ({ lease }) => {
    if (chance(random, 0.8)) await pause(between(random, 0, 3));
    // Refused before the first byte: nothing was spent.
    if (chance(random, 0.1)) return lease[Symbol.dispose]();
    settle(lease, 100 + Math.floor(random() * (lease.outputCap + 1)), 0, report);
  });
}

/** A run of three calls of which each gets all it asks for: there is enough for everybody. */
async function enoughOn(tree: Account, report: RaceReport): Promise<void> {
  await runOn(
    tree,
    report,
    Array.from({ length: ENOUGH.calls }, () => needOf(ENOUGH.output)),
    async ({ lease }) => {
      if (lease.outputCap < ENOUGH.output) report.faults.push(`an answer was cut to ${lease.outputCap}`);
      await pause(1);
      settle(lease, ENOUGH.spent, ENOUGH.lastWords, report);
    },
  );
}

function settle(lease: Lease, amount: number, lastWords: number, report: RaceReport): void {
  report.tokens += amount;
  report.calls += 1;
  lease.settle({ tokens: amount, costUsd: null }, tokens(lastWords));
}

async function runOn(
  tree: Account,
  report: RaceReport,
  [first, ...others]: CallNeed[],
  onCall: (call: { lease: Lease }) => Promise<void>,
): Promise<void> {
  const scope = new Scope();
  const asked = { scope, above: undefined, onWait: () => {}, onRefused: () => {} };
  let need = first;
  try {
    await tree.startExecution();
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return;
  }
  try {
    const started = await tree.start({ ...asked, path: `lead/${++runs}`, need });
    using holding = started.holding;
    using _slot = started.slot;
    tree.useExecution();
    report.executions += 1;
    if (started.first !== undefined) await onCall({ lease: started.first });
    for (need of others) {
      const ask = { need, lastWords: NO_AMOUNT, closing: undefined, onWait: () => {} };
      await onCall({ lease: await holding.reserve(ask, scope) });
    }
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    if (need === first) tree.undoExecution();
    report.refused += 1;
    const least = (need?.promptTokens ?? 0) + (need?.minOutput ?? 0);
    report.leastRefused = Math.min(report.leastRefused ?? least, least);
  }
}

function needOf(outputCap: number): CallNeed {
  return { promptTokens: 100, minOutput: 20, outputCap, price: undefined };
}

/** A whole tree: a lead with up to two children, each of some turns. */
async function treeOn(shared: SharedBudget, random: Random, report: RaceReport): Promise<void> {
  const lead = agent({ name: "lead", model: fixedCost(random, report), instructions: "x".repeat(600), delegate: true });
  try {
    const { agents, status } = await runtime.run(lead, "Go.", { budget: { from: shared } });
    report.executions += agents.length - 1;
    if (status === "budget_exceeded") report.refused += 1;
    else if (status !== "completed") report.faults.push(status);
  } catch (error) {
    report.faults.push(error instanceof RunError ? JSON.stringify(error.result.error) : String(error));
  }
}

/** Never bills more than was reserved for: its prompts are longer than what they cost. */
function fixedCost(random: Random, report: RaceReport): Model {
  return {
    id: "test/fixed-cost",
    async answer({ caller, mayCallTools }) {
      if (chance(random, 0.8)) await pause(between(random, 0, 3));
      const usage = { ...noUsage(), inputTokens: 50, outputTokens: 10, totalTokens: 60 };
      report.tokens += 60;
      report.calls += 1;
      const input = { task_prompt: `Look at ${report.calls}.`, label: "child" };
      const isMore = mayCallTools && caller.depth === 0 && caller.turn <= 2 && chance(random, 0.7);
      const call = { type: "tool-call", callId: `call-${report.calls}`, toolName: "subagent", input } as const;
      const text = { type: "text", text: "Done." } as const;
      return {
        message: { role: "assistant", content: isMore ? [call] : [text] },
        finish: isMore ? "tool-calls" : "stop",
        usage,
      };
    },
  };
}
