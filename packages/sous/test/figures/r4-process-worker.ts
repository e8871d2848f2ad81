/** One process of R4: races others for a shared budget in a SQLite file, and says what came of it. Told what to do by its parent. */

import { flushCompileCache } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import { agent } from "../../src/core/agent.ts";
import type { Random } from "../../src/core/clock.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Account, CallNeed } from "../../src/core/limits.ts";
import type { Model } from "../../src/core/model.ts";
import { RunError } from "../../src/core/runtime.ts";
import { Scope } from "../../src/core/scope.ts";
import type { SharedBudget } from "../../src/core/shared-budget.ts";
import { noUsage } from "../../src/core/usage.ts";
import { systemHost } from "../../src/host.ts";
import { createRuntime } from "../../src/runtime.ts";
import { between, chance, seededRandom } from "../../src/testing/seeded-random.ts";
import { importWithout, type Mutation } from "../mutation.ts";

/** What the parent says before the first race. */
export type WorkerTask = { file: string; mutation: Mutation | undefined };

/** What the parent says of each race. */
export type RaceTask = { seed: number; name: string; kind: "calls" | "trees"; callers: number };

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

type Stores = typeof import("../../src/store/sqlite.ts");
type Accounts = typeof import("../../src/budget/shared-account.ts");

const { file, mutation } = JSON.parse(process.argv[2] ?? "{}") as WorkerTask;
const { openSqliteStore } = await load<Stores>(import.meta.resolve("../../src/store/sqlite.ts"));
const { drawOn } = await load<Accounts>(import.meta.resolve("../../src/budget/shared-account.ts"));
const { openLedger } = await import("../../src/budget/ledger.ts");
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
    const one = kind === "calls" ? callsOn : treeOn;
    await Promise.all(Array.from({ length: callers }, () => one(shared, random, report)));
  } catch (error) {
    report.faults.push(String(error));
  }
  process.send?.(report);
}

/** A caller that keeps nothing back for last words, so that a refusal must be right to the unit. */
async function callsOn(shared: SharedBudget, random: Random, report: RaceReport): Promise<void> {
  const account: Account = drawOn(shared, openLedger({}), clock);
  try {
    await account.startExecution();
    report.executions += 1;
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return;
  }
  for (let calls = between(random, 1, 3); calls > 0; calls--) {
    const need: CallNeed = {
      promptTokens: 100,
      minOutput: 20,
      outputCap: 20 + between(random, 0, 80),
      price: undefined,
    };
    try {
      using lease = await account.reserve(need, new Scope());
      if (chance(random, 0.8)) await pause(between(random, 0, 3));
      // Refused before the first byte: nothing was spent.
      if (chance(random, 0.1)) continue;
      const tokens = 100 + Math.floor(random() * (lease.outputCap + 1));
      report.tokens += tokens;
      report.calls += 1;
      lease.settle({ tokens, costUsd: null });
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      report.refused += 1;
      const least = need.promptTokens + need.minOutput;
      report.leastRefused = Math.min(report.leastRefused ?? least, least);
      return;
    }
  }
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

async function load<Module>(url: string): Promise<Module> {
  if (mutation === undefined) return import(url);
  try {
    return await importWithout<Module>(url, mutation);
  } catch (error) {
    // What it changes is reached by the other of the two.
    if (String(error).includes("would change nothing")) return import(url);
    throw error;
  }
}
