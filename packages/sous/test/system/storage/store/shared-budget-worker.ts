/** A process that holds a call and a reserve of a shared budget until it is killed. Its parameters: the kind of store, where, the schema. */

import { openPostgresStore } from "../../../../src/storage/store/postgres/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { BudgetProcess } from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";

export const budgetWorker: string = import.meta.filename;

if (process.argv[1] === budgetWorker) {
  const [, , kind, where = "", schema] = process.argv;
  const store =
    kind === "sqlite" ? await openSqliteStore(where) : await openPostgresStore({ connectionString: where, schema });
  const holder = new BudgetProcess(await store.sharedBudget("team"));
  await holder.granted({ unit: "executions", spent: 1 }, { inFlight: 300, kept: 500 });
  process.stdout.write("holds\n");
  process.stdin.resume();
}
