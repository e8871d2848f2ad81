/** What every part of `sous replay` is given. */

import type { RunRecord, Store } from "../../core/store.ts";
import type { DatabaseFlags } from "../database-place.ts";
import { findRun } from "../find-run.ts";
import { thisFolder } from "../folders.ts";
import { DISPLAY_OPTIONS, type OptionValues } from "../options.ts";
import type { Output } from "../output.ts";

export const REPLAY_OPTIONS = {
  ...DISPLAY_OPTIONS,
  list: { type: "boolean", short: "l" },
  id: { type: "string", short: "i" },
  tree: { type: "boolean", short: "t" },
  diff: { type: "string" },
  import: { type: "string" },
  prune: { type: "string" },
  backup: { type: "string" },
  limit: { type: "string", default: "10" },
  offset: { type: "string", default: "0" },
  status: { type: "string" },
  since: { type: "string" },
  request: { type: "string" },
  full: { type: "boolean", default: false },
  rerun: { type: "boolean" },
  "live-tools": { type: "boolean", default: false },
  export: { type: "string" },
  "save-cassette": { type: "string" },
  output: { type: "string" },
  yes: { type: "boolean", default: false },
  force: { type: "boolean", default: false },
  "new-ids": { type: "boolean", default: false },
  here: { type: "boolean", default: false },
  roots: { type: "boolean", default: false },
  "db-path": { type: "string" },
  config: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

export type Replay = {
  /** As they were typed. */
  values: OptionValues<typeof REPLAY_OPTIONS>;
  /** The database. */
  file: string;
  /** What was typed about it. */
  flags: DatabaseFlags;
  output: Output;
};

/** A run of any folder, because reading changes nothing; `last` is the newest of this folder if it has one. */
export function findToRead(store: Store, given: string): Promise<RunRecord> {
  return findRun(store, given, { cwd: thisFolder(), elsewhere: "take", takenBy: (id) => `sous replay --id ${id}` });
}
