/**
 * R17: the store goes away during a run and stays away until the process is over, by itself or by SIGKILL. When the store is
 * back, resume refuses what continued without it, and no payment is made twice.
 */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { UserError } from "../../src/core/errors.ts";
import type { Store } from "../../src/core/store.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openPostgresStore } from "../../src/storage/store/postgres/store.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { between, chance, seededRandom } from "../../src/testing/world.ts";
import type { Mutation } from "../support/mutation.ts";
import type { PostgresServer } from "../support/storage/store/postgres-server.ts";
import { bundleWorker, Crew } from "./kill-process.ts";
import type { PayOrder } from "./r17-lost-worker.ts";
import { FIRST_WITHOUT_STORE, GOES_AWAY_AT, payer, paymentsIn } from "./r17-payer.ts";

export type LostFigure = {
  seed: number;
  trials: number;
  killed: number;
  refused: number;
  resumed: number;
  paidTwice: number;
  broken: { trial: number; problems: string[] }[];
  milliseconds: number;
};

export type LostOptions = {
  seed: number;
  trials: number;
  /** In this one instead of files. */
  server?: PostgresServer;
  mutation?: Mutation;
};

export async function runLostStores({ seed, trials, server, mutation }: LostOptions): Promise<LostFigure> {
  const startedAt = performance.now();
  const random = seededRandom(seed, "lost");
  const folder = mkdtempSync(join(tmpdir(), "sous-r17-"));
  const counts = { killed: 0, refused: 0, resumed: 0, paidTwice: 0 };
  const figure: LostFigure = { seed, trials: 0, ...counts, broken: [], milliseconds: 0 };
  try {
    // The package of Postgres is not part of the bundle.
    symlinkSync(fileURLToPath(new URL("../../../../node_modules", import.meta.url)), join(folder, "node_modules"));
    const program = await bundleWorker("r17-lost-worker.ts", mutation);
    await using crew = new Crew(program);
    for (let trial = 0; trial < trials; trial++) {
      const place = join(folder, String(trial));
      mkdirSync(place);
      const away = server === undefined ? awayFile(join(place, "runs.db")) : awayServer(server, join(place, "lost"));
      const order: PayOrder = { log: join(place, "log"), place: away.place, requireStore: chance(random, 0.2) };
      const dies = chance(random, 0.5) ? between(random, GOES_AWAY_AT, 8) : undefined;
      const worker = await crew.take();
      worker.give(order);
      await worker.untilSaid(`e ${GOES_AWAY_AT}`);
      await away.begin();
      worker.give({});
      if (dies !== undefined && !order.requireStore) {
        await worker.untilSaid(`e ${dies}`);
        worker.kill();
        figure.killed += 1;
      }
      const { fault, runId = "" } = await worker.ended;
      await away.end();
      const problems = fault === undefined ? [] : [fault];
      const paid = paymentsIn(order.log);
      const isLost = Math.max(0, ...paid) >= FIRST_WITHOUT_STORE;
      {
        await using store = await away.open();
        const isRefused = await resume(store, runId, order.log, problems);
        if (isLost && !isRefused) problems.push(`It continued without its store, and is resumed: ${paid.join(" ")}`);
        if (isRefused) figure.refused += 1;
        else figure.resumed += 1;
      }
      const all = paymentsIn(order.log);
      const twice = all.length - new Set(all).size;
      if (twice > 0) problems.push(`Paid twice: ${all.join(" ")}`);
      figure.paidTwice += twice;
      if (problems.length > 0) figure.broken.push({ trial, problems });
      figure.trials += 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** True when it is refused because not all of it was stored. */
async function resume(store: Store, runId: string, log: string, problems: string[]): Promise<boolean> {
  try {
    await createRuntime({ store }).resume(runId, { agent: payer(log) });
    return false;
  } catch (error) {
    const isRefused = error instanceof UserError && error.message.includes("because not all of it was stored");
    if (!isRefused) problems.push(String(error));
    return isRefused;
  }
}

/** A store that can be taken away from a process. */
type Away = {
  readonly place: PayOrder["place"];
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
  open(): Promise<Store>;
};

function awayFile(file: string): Away {
  let other: DatabaseSync | undefined;
  return {
    place: { file },
    begin() {
      other = new DatabaseSync(file);
      other.exec("BEGIN IMMEDIATE");
    },
    end: () => other?.close(),
    open: () => openSqliteStore(file),
  };
}

function awayServer(server: PostgresServer, lostFolder: string): Away {
  const place = { connectionString: server.connectionString(), lostFolder };
  return { place, begin: () => server.crash(), end: () => server.start(), open: () => openPostgresStore(place) };
}
