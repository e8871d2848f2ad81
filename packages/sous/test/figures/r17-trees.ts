/** Trees that fill many pages of a database, and what is left of them. */

import type { StoredEvent } from "../../src/core/event.ts";
import type { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../src/testing/sample-tree.ts";

const TURNS = 60;

/** Some hundred pages, or as many as these `turns` need. */
export function longTree(number: number, turns: number = TURNS): readonly StoredEvent[] {
  const tree = sampleTree(`t${number}`);
  tree.start(`t${number}`);
  for (let turn = 0; turn < turns; turn++) tree.turn(`t${number}`, `${number} ${turn} `.repeat(2_000));
  tree.end(`t${number}`);
  return tree.events;
}

/** Opens the database as the next command does, first to look and then to write. Returns what is wrong. */
export async function judgeStore(
  file: string,
  stored: readonly number[],
  { open, turns }: { open: typeof openSqliteStore; turns?: number | undefined },
): Promise<string[]> {
  const problems: string[] = [];
  for (const readOnly of [true, false]) {
    const problem = (what: string) => void problems.push(`${readOnly ? "looking" : "writing"}: ${what}`);
    try {
      await using store = await open(file, { readOnly });
      const { length } = longTree(0, turns);
      for (const number of stored) {
        const found = (await store.read(`t${number}`)).length;
        if (found !== length) problem(`tree ${number} has ${found} events of ${length}`);
      }
      // What was stored without a word being heard of it is whole as well.
      for (const { id, status } of await store.list()) if (status !== "completed") problem(`${id} is ${status}`);
    } catch (error) {
      const isNoneYet = readOnly && stored.length === 0 && String(error).includes("There is no database at");
      if (!isNoneYet) problem(String(error));
    }
  }
  return problems;
}
