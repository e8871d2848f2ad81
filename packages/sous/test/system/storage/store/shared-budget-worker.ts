/** A process that holds a call and a reserve of a shared budget until it is killed. Its parameters: the kind of store, where, the schema. */

import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { call, need, PurseProcess, tokens } from "./shared-budget/purse-asks.ts";

export const purseWorker: string = import.meta.filename;

if (process.argv[1] === purseWorker) {
  const [, , kind, where = "", schema] = process.argv;
  const store =
    kind === "sqlite" ? await openSqliteStore(where) : await openPostgresStore({ connectionString: where, schema });
  const purse = new PurseProcess(await store.sharedBudget("team"));
  await purse.step([], { starts: 1 });
  await purse.granted(call(need(200, 100), { grow: tokens(500) }));
  process.stdout.write("holds\n");
  process.stdin.resume();
}
