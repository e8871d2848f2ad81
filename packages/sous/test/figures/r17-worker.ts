/**
 * A process that makes databases, checkpoints them or closes them, over and over, until it is killed. It says `ready` when its
 * code is loaded, waits for its order on stdin, and says `b` and a number before each tree, and `e` and its number once the
 * tree is stored.
 */

import { writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { longTree } from "./r17-trees.ts";

export type Work = "create" | "checkpoint" | "close";
export type StoreOrder = {
  readonly file: string;
  readonly work: Work;
  /** How long its trees are. */
  readonly turns?: number | undefined;
};

process.stdin.once("data", (data: Buffer) => void work(JSON.parse(data.toString()) as StoreOrder));
process.stdin.on("end", () => process.exit());
say("ready");

async function work({ file, work, turns }: StoreOrder): Promise<void> {
  try {
    if (work === "checkpoint") await checkpoints(file, turns);
    for (let number = 0; ; number++) await oneLife(work === "create" ? `${file}.${number}` : file, number, turns);
  } catch (error) {
    say(`x ${JSON.stringify(String((error as Error).stack))}`);
    process.exit(1);
  }
}

/** Opens a database, which may have to be made, and closes it: then its log is copied into it. */
async function oneLife(file: string, number: number, turns: number | undefined): Promise<void> {
  say(`b ${number}`);
  await using store = await openSqliteStore(file);
  store.append(`t${number}`, longTree(number, turns));
  say(`e ${number}`);
}

async function checkpoints(file: string, turns: number | undefined): Promise<never> {
  await using store = await openSqliteStore(file);
  const other = new DatabaseSync(file);
  for (let number = 0; ; number++) {
    say(`b ${number}`);
    store.append(`t${number}`, longTree(number, turns));
    say(`e ${number}`);
    other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    // Its stdin may have been closed.
    await new Promise((next) => setImmediate(next));
  }
}

/** At once: what is said before a death is heard. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
