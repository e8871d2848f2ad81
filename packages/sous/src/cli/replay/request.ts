/** What every part of `sous replay` is given. */

import type { RunRecord, Store } from "../../core/store.ts";
import { thisFolder } from "../files/paths.ts";
import type { DatabaseFlags } from "../stored/database.ts";
import { findRun } from "../stored/find-run.ts";
import type { OptionValues } from "../table/options.ts";
import type { REPLAY } from "../table/replay-entry.ts";
import type { Output } from "../terminal/output.ts";

export type Replay = {
  /** As they were typed. */
  values: OptionValues<typeof REPLAY>;
  /** The database. */
  file: string;
  /** What was typed about it. */
  flags: DatabaseFlags;
  output: Output;
};

/** A run of any folder, because reading changes nothing; `last` is the newest of this folder if it has one. */
export function findToRead(store: Store, given: string): Promise<RunRecord> {
  return findRun(store, given, { cwd: thisFolder(), elsewhere: "take" });
}
