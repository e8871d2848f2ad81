/**
 * A process that spends what it can on a chain of budgets, until it is refused. Its fake provider bills an answer before the process
 * hears of it, into a file that outlives the process. Its parameters: where the store is, the schema, the file, the chain.
 */

import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { NO_AMOUNT } from "../../../../src/core/amount.ts";
import { BudgetExceeded } from "../../../../src/core/errors.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { budgetRowsOf } from "../../../../src/core/shared-budget.ts";
import { systemHost } from "../../../../src/machine/host.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../src/runtime/budget/run-slots.ts";
import { chainOf } from "../../../../src/runtime/budget/shared-budget-client.ts";
import { openPostgresStore } from "../../../../src/storage/store/postgres/store.ts";

export const raceWorker: string = import.meta.filename;

/** Each call asks for a prompt of 100 tokens and an answer of 20 to 80. */
const NEED = { promptTokens: 100, minOutput: 20, outputCap: 80, price: undefined };
const RUNS = 6;

if (process.argv[1] === raceWorker) {
  const [, , connectionString, schema, bills = "", chain = ""] = process.argv;
  await using store = await openPostgresStore({ connectionString, schema, reconnectMs: 20_000 });
  const rows = budgetRowsOf(store);
  if (rows === undefined) throw new Error("The store has no rows");
  const { clock } = systemHost();
  const shared = chainOf(rows, JSON.parse(chain), clock);
  const tree = openLedger({}, { slots: new Slots(RUNS, "queue"), shared });
  // All start together, once all are there.
  process.stdout.write("ready");
  await once(process.stdin, "data");
  await Promise.all(Array.from({ length: RUNS }, (_, index) => spendAll(`lead/${index}`)));
  await tree.flushed();
  process.stdin.destroy();

  async function spendAll(path: string): Promise<void> {
    using run = tree.enter(path);
    for (let calls = 0; ; calls++) {
      try {
        const lease = await run.reserve(
          { need: NEED, lastWords: NO_AMOUNT, closing: undefined, onWait: () => {} },
          new Scope(),
        );
        const billed = 100 + ((calls * 37 + path.length) % (lease.outputCap + 1));
        appendFileSync(bills, `${process.pid} ${billed}\n`);
        await pause((calls * 7) % 5);
        lease.settle({ tokens: billed, costUsd: null });
      } catch (error) {
        if (error instanceof BudgetExceeded) return;
        throw error;
      }
    }
  }
}
