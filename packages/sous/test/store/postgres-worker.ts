/** A process that begins a tree in Postgres and then waits to be killed. */

import { openPostgresStore } from "../../src/store/postgres.ts";
import { sampleTree } from "../../src/testing/sample-tree.ts";

const [connectionString, schema] = process.argv.slice(2);
const store = await openPostgresStore({ connectionString, schema });
const tree = sampleTree("lead");
tree.start("lead");
await store.append(tree.rootId, tree.events);
process.stdout.write("begun\n");
process.stdin.resume();
