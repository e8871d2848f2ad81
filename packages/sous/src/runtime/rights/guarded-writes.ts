/** The files that a person is asked about although writes are allowed, for calls of the tools that write. */

import { lstatSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { type FileGuard, type GuardPaths, guardOf } from "../../core/guarded-files.ts";
import { toolRow } from "../../core/words/tools.ts";
import type { Action, PathAction, RealPath } from "./action.ts";

type Guarding = {
  readonly cwd: string;
  readonly paths: GuardPaths;
  readonly realPath: RealPath | undefined;
};

/** The strictest guard on what a call writes: the tool itself, or the files that a command of the terminal opens. */
export function writeGuard(action: Action, files: readonly Action[], guarding: Guarding): FileGuard | undefined {
  // The tools that write refuse by themselves what is always refused.
  const own = guardsOf(action, guarding).find(({ effect }) => effect === "ask");
  if (own !== undefined) return asked(own);
  const found = files.flatMap((file) => fileGuard(file, guarding) ?? []);
  return found.find(({ effect }) => effect === "refuse") ?? found[0];
}

/** Guards a file that a redirection of the terminal writes: no tool stands behind it to refuse anything. */
function fileGuard(action: Action, guarding: Guarding): FileGuard | undefined {
  if (isWrite(action) && isHardLink(resolve(guarding.cwd, action.path)))
    return { effect: "refuse", reason: "it would write a hard link: the same file has another name" };
  const guards = guardsOf(action, guarding);
  const [first] = guards;
  const refused = guards.find(({ effect }) => effect === "refuse");
  if (refused !== undefined)
    return { effect: "refuse", reason: `it would write a file that is never written: ${refused.reason}` };
  return first && asked(first);
}

function asked({ reason }: FileGuard): FileGuard {
  return { effect: "ask", reason: `it is guarded even where writes are allowed: ${reason}` };
}

/** `path` is absolute. */
export function guardOfFile(path: string, paths: GuardPaths): FileGuard | undefined {
  return guardOf(path, paths, isThere);
}

/** Finds the guards of the path that was asked for, and of the one it leads to. */
function guardsOf(action: Action, { cwd, paths, realPath = realpathSync.native }: Guarding): FileGuard[] {
  if (!isWrite(action)) return [];
  const workspace = realOrSame(cwd, realPath);
  return [action.path, action.named].flatMap((path) => guardOfFile(resolve(workspace, path), paths) ?? []);
}

function isWrite(action: Action): action is Action & PathAction {
  return action.kind === "path" && toolRow(action.toolName)?.effect !== "read";
}

/** The shell writes into an existing file, whatever its other names are. */
function isHardLink(path: string): boolean {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true && stats.nlink > 1;
  } catch {
    return true;
  }
}

/** A path that may not be read counts as there: then a person is asked. */
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
