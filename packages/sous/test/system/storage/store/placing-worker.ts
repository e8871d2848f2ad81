/** A process that takes placed runs from Postgres, and writes an event to each of them when it reads a line. */

import { createInterface } from "node:readline";
import { StaleOwner } from "../../../../src/core/errors.ts";
import { newOwner } from "../../../../src/storage/store/owner.ts";
import { openPostgresStoreAs } from "../../../../src/storage/store/postgres/store.ts";

/** The file to start, with a connection string, a schema, and the host that it pretends to run on. It prints what it took. */
export const placingWorker: string = import.meta.filename;

async function work(connectionString: string, schema: string, host: string): Promise<void> {
  const store = await openPostgresStoreAs(newOwner(host), { connectionString, schema });
  const facts = { name: `worker on ${host}`, agents: ["scout"], places: 8 };
  await store.placing.enlist(facts);
  const taken = await store.placing.take(facts, 8);
  process.stdout.write(`${JSON.stringify(taken)}\n`);
  for await (const _line of createInterface(process.stdin)) {
    for (const { journalId, fence } of taken) {
      const [start] = await store.read(journalId);
      if (start === undefined) continue;
      const { runId, agentId, parentId, path, depth } = start;
      const head = { seq: 2, time: start.time, runId, agentId, parentId, path, depth };
      try {
        await store.append(journalId, [{ ...head, type: "stalled", seconds: 1, waitingFor: "a test" }], fence);
        process.stdout.write("written\n");
      } catch (error) {
        if (!(error instanceof StaleOwner)) throw error;
        process.stdout.write("stale\n");
      }
    }
  }
}

const [, file, connectionString, schema, host] = process.argv;
if (file === import.meta.filename) await work(connectionString ?? "", schema ?? "", host ?? "");
