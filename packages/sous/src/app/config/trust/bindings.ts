/**
 * The folders that a trusted project's rules hold in: its own, and the same place in every worktree of its repository. Nothing more
 * is given there than rules that narrow, so a forged `.git` file takes something from its own project only.
 */

import { join, relative, sep } from "node:path";
import { type GitFolders, gitFoldersAround } from "../../../machine/git-folder.ts";
import { isThere } from "./files.ts";
import type { TrustRecord } from "./record.ts";

export type Binding = {
  readonly record: TrustRecord;
  /** The folder that its rules are about: the record's own, or the same one in another worktree. */
  readonly root: string;
};

/** The bindings for work in this folder, which is a real path. */
export async function bindingsFor(folder: string, records: readonly TrustRecord[]): Promise<Binding[]> {
  const own = records.map((record) => ({ record, root: record.path }));
  const narrowing = records.filter(({ rules }) => rules.length > 0);
  const checkouts = narrowing.length === 0 ? [] : await checkoutsAround(folder);
  const others = checkouts.length === 0 ? [] : await Promise.all(narrowing.map((each) => inWorktrees(each, checkouts)));
  return [...own, ...others.flat()].filter(({ root }) => isWithin(folder, root));
}

/** The folders of repositories with several worktrees: others have nothing to share. */
async function checkoutsAround(folder: string): Promise<GitFolders[]> {
  const found = await gitFoldersAround(folder);
  const areShared = await Promise.all(found.map(({ common }) => isThere(join(common, "worktrees"))));
  return found.filter((_, index) => areShared[index]);
}

/** The record's folder may be gone: then it is not known any more which repository it belonged to. */
async function inWorktrees(record: TrustRecord, checkouts: readonly GitFolders[]): Promise<Binding[]> {
  const theirs = await gitFoldersAround(record.path);
  return checkouts.flatMap(({ top, common }) =>
    theirs
      .filter((each) => each.common === common && each.top !== top)
      .map((each) => ({ record, root: join(top, relative(each.top, record.path)) })),
  );
}

function isWithin(folder: string, above: string): boolean {
  return folder === above || folder.startsWith(above.endsWith(sep) ? above : `${above}${sep}`);
}
