/** `sous replay`: inspects stored runs, plays them again, exports, imports and deletes them. */

import { usageError } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { type DatabaseFlags, findDatabase } from "../stored/database.ts";
import { type OptionValues, quoted, readOptions, refusePositionals } from "../table/options.ts";
import { REPLAY } from "../table/stored-entries.ts";
import { type Output, openOutput } from "../terminal/output.ts";

const COMMAND = "sous replay";

/** The argument of every part of `sous replay`. */
export type ReplayRequest = {
  /** The options as they were typed. */
  readonly values: OptionValues<typeof REPLAY>;
  /** The file of the database. */
  readonly file: string;
  /** The options about the database. */
  readonly flags: DatabaseFlags;
  readonly output: Output;
  /** The second id of `--diff`. */
  readonly otherId: string;
};

/** The actions; exactly one of them is asked for. */
const ACTIONS = ["list", "id", "diff", "import", "prune", "backup"] as const;
/** The actions on one run; at most one of them. */
const WITH_ID = ["tree", "request", "rerun", "export", "save-cassette"] as const;

export async function replay(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(REPLAY, parameters);
  const action = chooseAction(values, positionals);
  const flags = { dbPath: values["db-path"], configFile: values.config };
  const perform = await ACTION_PARTS[action]();
  return perform({
    values,
    file: await findDatabase(flags, processContext()),
    flags,
    output: openOutput(process.stdout, values),
    otherId: positionals[0] ?? "",
  });
}

type Action = (typeof ACTIONS)[number] | (typeof WITH_ID)[number];

const ACTION_PARTS: Readonly<Record<Action, () => Promise<(request: ReplayRequest) => Promise<number>>>> = {
  list: async () => (await import("../replay/list.ts")).replayList,
  tree: async () => (await import("../replay/show.ts")).replayTree,
  id: async () => (await import("../replay/show.ts")).replayShow,
  request: async () => (await import("../replay/show.ts")).replayShow,
  rerun: async () => (await import("../replay/show.ts")).replayRerun,
  diff: async () => (await import("../replay/diff.ts")).replayDiff,
  export: async () => (await import("../replay/export.ts")).replayExport,
  "save-cassette": async () => (await import("../replay/export.ts")).replayCassette,
  import: async () => (await import("../replay/export.ts")).replayImport,
  backup: async () => (await import("../replay/export.ts")).replayBackup,
  prune: async () => (await import("../replay/export.ts")).replayPrune,
};

function chooseAction(values: ReplayRequest["values"], positionals: readonly string[]): Action {
  const asked = ACTIONS.filter((name) => isGiven(values[name]));
  const [action, other] = asked;
  if (action === undefined) {
    const hint = positionals[0] === undefined ? "" : ` Did you mean ${COMMAND} --id ${quoted(positionals[0])}?`;
    throw usageError(`${COMMAND} needs --list, or --id ID.${hint}\n\n${USAGE}`);
  }
  if (other !== undefined) throw usageError(`${COMMAND} does one thing at a time: --${action} or --${other}`);
  checkPositionals(action, positionals);
  const withId = WITH_ID.filter((name) => isGiven(values[name]));
  const [special, second] = withId;
  if (special === undefined) return action;
  if (action !== "id") throw usageError(`--${special} needs --id ID`);
  if (second !== undefined) throw usageError(`${COMMAND} does one thing at a time: --${special} or --${second}`);
  return special;
}

function isGiven(value: string | number | boolean | undefined): boolean {
  return value !== undefined && value !== false;
}

function checkPositionals(action: Action, positionals: readonly string[]): void {
  const taken = action === "diff" ? 1 : 0;
  if (positionals.length < taken) throw usageError("--diff takes two ids: sous replay --diff ID ID");
  refusePositionals(COMMAND, positionals.slice(taken));
}

const USAGE = `usage: ${[...REPLAY.usage.slice(0, 3), "replay --help"].map((line) => `sous ${line}`).join("\n       ")}`;
