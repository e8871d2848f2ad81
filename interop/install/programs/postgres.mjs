/** A run stored in the database that `DATABASE_URL` names. */

import { agent, run } from "sous";
import { openPostgresStore } from "sous/postgres";
import { says, scriptedModel } from "sous/testing";

const store = await openPostgresStore({ connectionString: process.env.DATABASE_URL });
const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("Stored.")] }) });
const { runId } = await run(lead, "Go.", { store });
const [stored] = await store.list();
console.log(JSON.stringify([stored?.id === runId, stored?.status]));
await store[Symbol.asyncDispose]();
