/** A process that begins two trees in Postgres, one of which asks a question, and then waits to be killed. */

import { openPostgresStore } from "../../../../src/storage/store/postgres/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { askingTrees } from "../../../support/storage/store/asking-trees.ts";

/** The file to start, with a connection string and a schema; it prints a line when both have begun. */
export const postgresWorker: string = import.meta.filename;

async function work(connectionString: string | undefined, schema: string | undefined): Promise<void> {
  const store = await openPostgresStore({ connectionString, schema });
  const tree = sampleTree("lead");
  tree.start("lead");
  await store.append(tree.rootId, tree.events);
  const [asked] = askingTrees();
  if (asked !== undefined) await store.append(asked.rootId, asked.events);
  process.stdout.write("begun\n");
  process.stdin.resume();
}

if (process.argv[1] === import.meta.filename) await work(process.argv[2], process.argv[3]);
