/** Begins the survey in a file. It will not live to see the end. */

import { run } from "sous";
import { openSqliteStore } from "sous/sqlite";
import { lead } from "./crew.ts";

// #region keep
await using store = await openSqliteStore(process.argv[2] ?? "runs.db");
const handle = run(lead, "Do the barn and the mill still stand?", { store });
// #endregion
console.log(handle.id);
await handle;
