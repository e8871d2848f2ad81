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
  const guard = guardsOf(action, cwd, places, realPath).find(({ effect }) => effect === "ask");
  return guard === undefined ? undefined : asked(guard.reason);
}

/** What holds for a file that a redirection of the terminal writes: no tool stands behind it to refuse anything. */
export function fileGuard(
  action: Action,
  cwd: string,
  places: GuardPlaces,
  realPath: RealPath = realpathSync.native,
): FileGuard | undefined {
  const guards = guardsOf(action, cwd, places, realPath);
  if (action.kind === "path" && WRITING_TOOLS.has(action.toolName) && isHardLink(resolve(cwd, action.path)))
    return { effect: "refuse", reason: "it would write a hard link: the same file has another name" };
  const [first] = guards;
  const refused = guards.find(({ effect }) => effect === "refuse");
  if (refused !== undefined)
    return { effect: "refuse", reason: `it would write a file that is never written: ${refused.reason}` };
  return first === undefined ? undefined : { effect: "ask", reason: asked(first.reason) };
}

function asked(reason: string): string {
  return `it is guarded even where writes are allowed: ${reason}`;
}

/** `path` is absolute. */
export function guardOfFile(path: string, places: GuardPlaces): FileGuard | undefined {
  return guardOf(path, places, isThere);
}

/** By the path that was asked for, and by the one it leads to. */
function guardsOf(action: Action, cwd: string, places: GuardPlaces, realPath: RealPath): FileGuard[] {
  if (!WRITING_TOOLS.has(action.toolName) || action.kind !== "path") return [];
  const workspace = realOrSame(cwd, realPath);
  return [action.path, action.named].flatMap((path) => guardOfFile(resolve(workspace, path), places) ?? []);
}

/** The shell writes into the file that is there, whatever its other names are. */
function isHardLink(path: string): boolean {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true && stats.nlink > 1;
  } catch {
    return true;
  }
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
