/** R17 in full: faults of the store. */

import { runFullDisk } from "../packages/sous/test/figures/r17-full-disk.ts";
import { runStoreKills } from "../packages/sous/test/figures/r17-kills.ts";
import { runLostStores } from "../packages/sous/test/figures/r17-lost.ts";
import { runOpenings } from "../packages/sous/test/figures/r17-openings.ts";
import { startPostgresServer } from "../packages/sous/test/support/storage/store/postgres-server.ts";
import type { Figure } from "./main.ts";

export const STORE_FAULTS: readonly Figure[] = [
  {
    name: "R17 200 kills while databases are made, checkpointed and closed",
    async measure(seed) {
      const figure = await runStoreKills({ seed, kills: 200 });
      const { cutCheckpoints, logs, journals, broken } = figure;
      return { figure, isReached: broken.length === 0 && Math.min(cutCheckpoints, logs, journals) > 0 };
    },
  },
  {
    name: "R17 a disk that is full at each page of the last checkpoint",
    async measure() {
      const figure = await runFullDisk({ step: 1 });
      return { figure, isReached: figure.broken.length === 0 && figure.cutCheckpoints > 10 };
    },
  },
  {
    name: "R17 5,000 openings beside a process that writes",
    async measure() {
      const figure = await runOpenings({ openings: 5_000 });
      return { figure, isReached: figure.broken.length === 0 };
    },
  },
  {
    name: "R17 100 runs whose SQLite store was away to their end",
    async measure(seed) {
      const figure = await runLostStores({ seed, trials: 100 });
      return { figure, isReached: figure.broken.length === 0 && figure.refused > 50 };
    },
  },
  {
    name: "R17 30 runs whose Postgres store was away to their end",
    async measure(seed) {
      await using server = await startPostgresServer();
      const figure = await runLostStores({ seed, trials: 30, server });
      return { figure, isReached: figure.broken.length === 0 && figure.refused > 15 };
    },
  },
];
