/** Begins to pay, and is killed in the middle. */

import { run } from "sous";
import { openSqliteStore } from "sous/sqlite";
import { clerk } from "./shop.ts";

await using store = await openSqliteStore(process.argv[3] ?? "runs.db");
await run(clerk, "Pay bill 7.", { store, requireStore: true });
