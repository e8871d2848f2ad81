/** The files that a person is asked about although writes are allowed, for calls of the tools that write. */

import { lstatSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { type FileGuard, type GuardPlaces, guardOf } from "../core/guarded-files.ts";
import type { Action, RealPath } from "./action.ts";

const WRITING_TOOLS = new Set(["write_file", "edit_file"]);

/** Why a call must be asked about; undefined when the rules alone decide. The tools themselves refuse what is refused. */
export function guardedWrite(
  action: Action,
  cwd: string,
  places: GuardPlaces,
  realPath: RealPath = realpathSync.native,
): string | undefined {
  if (!WRITING_TOOLS.has(action.toolName) || action.kind !== "path") return undefined;
  const workspace = realOrSame(cwd, realPath);
  const guards = [action.path, action.named].map((path) => guardOfFile(resolve(workspace, path), places));
  const reason = guards.find((guard) => guard?.effect === "ask")?.reason;
  return reason === undefined ? undefined : `it is guarded even where writes are allowed: ${reason}`;
}

/** `path` is absolute. */
export function guardOfFile(path: string, places: GuardPlaces): FileGuard | undefined {
  return guardOf(path, places, isThere);
}

/** What may not be looked at counts as there: then a person is asked. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function realOrSame(cwd: string, realPath: RealPath): string {
  try {
    return realPath(cwd);
  } catch {
    return cwd;
  }
}
