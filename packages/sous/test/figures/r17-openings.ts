/** R17: a second process opens a database while another writes, checkpoints, closes and opens it. It is never told anything but what is stored. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { bundleWorker, KillableProcess } from "./kill-process.ts";
import { judgeStore } from "./r17-trees.ts";
import type { StoreOrder } from "./r17-worker.ts";

export type OpeningsFigure = { openings: number; trees: number; broken: string[]; milliseconds: number };

/** Short, so that the files of a long trial stay small. */
const TURNS = 3;

/** Half of them beside a process that checkpoints all the time, half beside one that closes and opens. */
export async function runOpenings({ openings }: { openings: number }): Promise<OpeningsFigure> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "sous-r17-"));
  const figure: OpeningsFigure = { openings: 0, trees: 0, broken: [], milliseconds: 0 };
  try {
    const program = await bundleWorker("r17-worker.ts");
    for (const work of ["checkpoint", "close"] as const) {
      const order: StoreOrder = { file: join(folder, `${work}.db`), work, turns: TURNS };
      const writer = new KillableProcess(program);
      await writer.ready;
      writer.give(order);
      await writer.untilSaid("e 0");
      for (let opening = 0; opening < openings / 2; opening++) {
        const problem = await openOnce(order.file, opening % 2 === 0);
        if (problem !== undefined) figure.broken.push(`${work}, opening ${opening}: ${problem}`);
        figure.openings += 1;
      }
      writer.kill();
      const { shown, fault } = await writer.ended;
      if (fault !== undefined) figure.broken.push(`${work}, the writer: ${fault}`);
      figure.broken.push(...(await judgeStore(order.file, shown, { open: openSqliteStore, turns: TURNS })));
      figure.trees += shown.length;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

async function openOnce(file: string, readOnly: boolean): Promise<string | undefined> {
  try {
    await using store = await openSqliteStore(file, { readOnly });
    const [first] = await store.list({ limit: 1 });
    return first === undefined ? "it has no runs" : undefined;
  } catch (error) {
    return String(error);
  }
}
