/** The door to Postgres on a machine where nobody installed `pg`. */

import { openPostgresStore } from "sous/postgres";

const error = await openPostgresStore().catch((reason: unknown) => reason);
console.log(String(error));
