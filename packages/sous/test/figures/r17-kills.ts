/**
 * R17: processes are killed with SIGKILL while they make databases, checkpoint them and close them. The next one opens each
 * with everything that was stored, and is never told that it is damaged.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { between, chance, seededRandom } from "../../src/testing/world.ts";
import { isCut } from "../support/storage/store/cut-checkpoint.ts";
import { bundleWorker, Crew, until } from "./kill-process.ts";
import { judgeStore } from "./r17-trees.ts";
import type { StoreOrder, Work } from "./r17-worker.ts";

export type StoreKillFigure = {
  seed: number;
  kills: number;
  /** How the killed ones left their database: kills that hit nothing would show nothing. */
  cutCheckpoints: number;
  logs: number;
  journals: number;
  halfMade: number;
  trees: number;
  broken: { kill: number; work: Work; problems: string[] }[];
  milliseconds: number;
};

const WORK: readonly Work[] = ["create", "checkpoint", "close"];
const LONGEST_WAIT_MS = 30;

export async function runStoreKills({ seed, kills }: { seed: number; kills: number }): Promise<StoreKillFigure> {
  const startedAt = performance.now();
  const random = seededRandom(seed, "kills");
  const folder = mkdtempSync(join(tmpdir(), "sous-r17-"));
  const found = { cutCheckpoints: 0, logs: 0, journals: 0, halfMade: 0, trees: 0 };
  const figure: StoreKillFigure = { seed, kills: 0, ...found, broken: [], milliseconds: 0 };
  try {
    const program = await bundleWorker("r17-worker.ts");
    await using crew = new Crew(program);
    for (let kill = 0; kill < kills; kill++) {
      const work = WORK[kill % WORK.length] ?? "close";
      const place = join(folder, String(kill));
      mkdirSync(place);
      const order: StoreOrder = { file: join(place, "runs.db"), work };
      const worker = await crew.take();
      worker.give(order);
      // A database is made behind the first word, and a checkpoint comes behind a tree that is stored.
      await worker.untilSaid(work === "create" ? "b 0" : `e ${between(random, 0, 2)}`);
      if (work === "create" || chance(random, 0.3)) await until(performance.now() + random() ** 2 * LONGEST_WAIT_MS);
      else waitForGrowth(order.file);
      worker.kill();
      const { begun, shown, fault } = await worker.ended;
      const last = begun.at(-1);
      const file = work === "create" && last !== undefined ? `${order.file}.${last}` : order.file;
      const stored = work === "create" ? shown.filter((number) => number === last) : shown;
      lookAt(file, figure);
      const problems = fault === undefined ? [] : [fault];
      problems.push(...(await judgeStore(file, stored, { open: openSqliteStore })), ...(await integrity(file)));
      if (problems.length > 0) figure.broken.push({ kill, work, problems: problems.slice(0, 5) });
      figure.kills += 1;
      figure.trees += shown.length;
      rmSync(place, { recursive: true, maxRetries: 5 });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

/** Comes back as soon as a checkpoint writes pages behind the end of the file: a timer would be too late. */
function waitForGrowth(file: string): void {
  const before = statSync(file).size;
  const latest = performance.now() + LONGEST_WAIT_MS;
  while (performance.now() < latest && statSync(file).size === before);
}

/** Before anyone opens it. */
function lookAt(file: string, figure: StoreKillFigure): void {
  const size = (end: string) => statSync(`${file}${end}`, { throwIfNoEntry: false })?.size ?? -1;
  if (size("") > 0 && isCut(readFileSync(file))) figure.cutCheckpoints += 1;
  if (size("-wal") > 0) figure.logs += 1;
  if (size("-journal") > 0) figure.journals += 1;
  if (size("") === 0) figure.halfMade += 1;
}

async function integrity(file: string): Promise<string[]> {
  using database = new DatabaseSync(file, { readOnly: true });
  const verdict = database.prepare("PRAGMA integrity_check(1)").get()?.integrity_check;
  return verdict === "ok" ? [] : [`The check says: ${verdict}`];
}
