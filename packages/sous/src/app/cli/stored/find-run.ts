/** The stored run that a person means. A run belongs to its folder: it is not continued among the files of another. */

import type { RunRecord, Store } from "../../../core/store.ts";
import { CommandError } from "../exit-codes.ts";
import { changeTo, shortFolder, thisFolder } from "../files/paths.ts";
import { inertLine } from "../terminal/text.ts";

/** The place in which a run is looked for. */
export type RunSearch = {
  /** This folder, as `thisFolder` gives it. */
  readonly cwd: string;
} & (RefusingSearch | { readonly elsewhere: "take" });

type RefusingSearch = {
  /**
   * The treatment of a run of another folder: it is refused, or taken because `--here` was typed, or because it is only
   * looked at. `last` is taken from this folder while it has one.
   */
  readonly elsewhere: "refuse" | "take";
  /** The command that takes a run of another folder, for the sentence that refuses it. */
  readonly takenBy: (id: string) => string;
  /** True for an interrupted run that cannot be continued: without an id, an earlier one is taken. */
  readonly isPassedOver?: ((record: RunRecord) => Promise<boolean>) | undefined;
};

type Runs = Pick<Store, "run" | "list">;

const MIN_PREFIX = 6;
const SHOWN = 5;

/** Throws a `CommandError` when there is no such run, when there is more than one, or when it belongs to another folder. */
export async function findRun(store: Runs, given: string | undefined, search: RunSearch): Promise<RunRecord> {
  if (given === undefined) return newest(store, search, { isInterrupted: true });
  if (given === "last") return newest(store, search, { isInterrupted: false });
  const record = await findById(store, given);
  const folder = await folderOf(store, record);
  if (search.elsewhere === "take" || folder === undefined || folder === search.cwd) return record;
  throw new CommandError(
    `Run ${describe(record)} belongs to ${shortFolder(folder)}. ${howToTake(record, folder, search)}`,
  );
}

/** A run of any folder, because reading changes nothing; `last` is the newest of this folder if it has one. */
export function findToRead(store: Runs, given: string): Promise<RunRecord> {
  return findRun(store, given, { cwd: thisFolder(), elsewhere: "take" });
}

/** The line that is worth saying when a run is continued: that it did not begin in this folder, or does not say where. */
export function folderNote({ id, cwd }: RunRecord, { cwd: here }: Pick<RunSearch, "cwd">): string | undefined {
  const run = `Run ${inertLine(id, 60)}`;
  if (cwd === undefined)
    return `${run} does not say which folder it belongs to; it continues with the files of this folder.`;
  return cwd === here
    ? undefined
    : `${run} belongs to ${shortFolder(cwd)}; it continues with the files of this folder.`;
}

/** A run of another folder continues in this one only with `--here`. */
export function isElsewhere({ cwd }: RunRecord, here: string): boolean {
  return cwd !== undefined && cwd !== here;
}

type Wanted = { readonly isInterrupted: boolean } & Pick<RefusingSearch, "isPassedOver">;

async function newest(store: Runs, search: RunSearch, { isInterrupted }: Wanted): Promise<RunRecord> {
  const wanted = { isInterrupted, isPassedOver: "isPassedOver" in search ? search.isPassedOver : undefined };
  const found = await newestRoot(store, wanted, search.cwd);
  if (found !== undefined) return found;
  const other = await newestRoot(store, wanted);
  if (other === undefined) throw new CommandError(isInterrupted ? NONE_INTERRUPTED : NO_RUNS);
  if (search.elsewhere === "take") return other;
  const none = isInterrupted ? "No run of this folder was interrupted" : "There are no runs of this folder yet";
  const where = other.cwd === undefined ? "" : `, in ${shortFolder(other.cwd)}`;
  throw new CommandError(
    `${none}. The newest elsewhere is ${describe(other)}${where}. ${howToTake(other, other.cwd, search)}`,
  );
}

/** Max roots to look at: runs that cannot be resumed are few. */
const NEWEST = 100;

async function newestRoot(
  store: Runs,
  { isInterrupted, isPassedOver }: Wanted,
  cwd?: string,
): Promise<RunRecord | undefined> {
  if (!isInterrupted) return (await store.list({ cwd, rootsOnly: true, limit: 1 }))[0];
  const left = ["interrupted", "waiting"] as const;
  const lists = left.map((status) => store.list({ cwd, status, rootsOnly: true, limit: NEWEST }));
  const found = (await Promise.all(lists)).flat().sort((one, other) => other.startedAt - one.startedAt);
  for (const record of found) if (record.lost === undefined && (await isPassedOver?.(record)) !== true) return record;
  return found[0];
}

const NO_RUNS = "There are no runs yet. sous demo makes one.";
const NONE_INTERRUPTED =
  "No run was interrupted. sous resume ID continues one that was stopped; sous replay --list shows them.";

async function findById(store: Runs, given: string): Promise<RunRecord> {
  // Ids are written in capitals and often typed without.
  const id = given.trim().toUpperCase();
  const found = (await store.run(given)) ?? (await store.run(id));
  if (found !== undefined) return found;
  if (id.length < MIN_PREFIX) throw unknown(given, ` Give at least ${MIN_PREFIX} characters of its id.`);
  const matching = await store.list({ idPrefix: id, limit: SHOWN + 1 });
  const [only, another] = matching;
  if (only === undefined) throw unknown(given);
  if (another === undefined) return only;
  const names = matching.slice(0, SHOWN).map((each) => `${inertLine(each.id, 40)} (${inertLine(each.path, 60)})`);
  const more = matching.length > SHOWN ? ", and others" : "";
  throw new CommandError(`${inertLine(given, 60)} is the beginning of several ids: ${names.join(", ")}${more}`);
}

/** A child is where its tree is. */
async function folderOf(store: Runs, record: RunRecord): Promise<string | undefined> {
  return record.parentId === null ? record.cwd : (await store.run(record.rootId))?.cwd;
}

function describe({ id, task }: RunRecord): string {
  return `${inertLine(id, 60)} (${JSON.stringify(inertLine(task, 60))})`;
}

function howToTake({ id }: RunRecord, folder: string | undefined, { takenBy }: RefusingSearch): string {
  const command = takenBy(inertLine(id, 60));
  if (folder === undefined) return `To continue it with the files of this folder: ${command}`;
  return `Either ${changeTo(folder)} first, or continue it with the files of this folder: ${command}`;
}

function unknown(given: string, hint = ""): CommandError {
  return new CommandError(`Unknown run ${inertLine(given, 60)}.${hint} sous replay --list shows all.`);
}
