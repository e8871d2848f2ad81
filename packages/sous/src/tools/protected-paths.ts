/** What the tools that write refuse by themselves, whatever rules and people allow. */

import { lstatSync } from "node:fs";
import { type FileGuard, type GuardPlaces, guardOf } from "../core/guarded-files.ts";
import type { Workspace } from "./workspace.ts";

export type ProtectedPaths = {
  /** Why a file must not be written; undefined when it may be. Absolute: as it was asked for, and without links. */
  reason(asked: string, real: string): string | undefined;
};

/** Without places, names are judged from the top of the workspace. */
export function protectPaths(workspace: Workspace, places: GuardPlaces = { top: workspace.root }): ProtectedPaths {
  const guard = (path: string): FileGuard | undefined => guardOf(path, places, isThere);
  return {
    reason(asked, real) {
      const [named, found] = [guard(asked), guard(real)];
      const refused = [named, found].find((each) => each?.effect === "refuse");
      if (refused !== undefined) return refused.reason;
      // The rules saw the name that was asked for. A link that was swapped in since then leads to no guarded file.
      const isHidden = found !== undefined && named === undefined;
      return isHidden ? `it is reached through a link, and ${found.reason}; name the file itself` : undefined;
    },
  };
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
