/** Trust: whether the files of a project may be read. It is given to a folder as it is, and ends with the first change. */

import { messageOf } from "../core/errors.ts";
import { type ProjectFile, type ProjectSnapshot, presentPlaces, readProject } from "./trust-files.ts";
import { changeTrustRecords, readTrustRecords } from "./trust-record.ts";
import { projectRoot } from "./trust-root.ts";

export type ProjectTrust = {
  /** The real path of the folder in question. */
  readonly root: string;
  readonly state: "trusted" | "unknown" | "changed";
  /** What would be read; found by looking only. With nothing there, nobody needs to be told. */
  readonly present: readonly string[];
  /** Why it is not trusted, when that is not a matter of asking. */
  readonly problem: string | undefined;
  /** As they were when they were compared; empty unless it is trusted. Whoever reads them again may find others. */
  readonly files: readonly ProjectFile[];
};

type Place = { readonly cwd: string; readonly stateFolder: string };

/**
 * Never throws. For a project without a record nothing is opened; the files of one with a record are read to be compared.
 * A record is for exactly one folder: one above it says nothing about a repository inside.
 */
export async function trustOf({ cwd, stateFolder }: Place): Promise<ProjectTrust> {
  const root = await projectRoot(cwd);
  const present = await presentPlaces(root);
  try {
    const record = (await readTrustRecords(stateFolder)).find(({ path }) => path === root);
    if (record === undefined) return { root, state: "unknown", present, problem: undefined, files: [] };
    const { sha256, files } = await readProject(root);
    if (sha256 !== record.sha256) return { root, state: "changed", present, problem: undefined, files: [] };
    return { root, state: "trusted", present, problem: undefined, files };
  } catch (error) {
    return { root, state: "unknown", present, problem: messageOf(error), files: [] };
  }
}

/** Trusts the project as the snapshot has it. What has changed since then is not trusted. */
export async function trust(
  root: string,
  { sha256 }: Pick<ProjectSnapshot, "sha256">,
  { stateFolder, at }: { stateFolder: string; at: Date },
): Promise<void> {
  const record = { path: root, sha256, at: at.toISOString() };
  await changeTrustRecords(stateFolder, (records) => [...records.filter(({ path }) => path !== root), record]);
}

/** False when it was not trusted. */
export async function revoke({ cwd, stateFolder }: Place): Promise<boolean> {
  const root = await projectRoot(cwd);
  const isKnown = (await readTrustRecords(stateFolder)).some(({ path }) => path === root);
  if (isKnown) await changeTrustRecords(stateFolder, (records) => records.filter(({ path }) => path !== root));
  return isKnown;
}
