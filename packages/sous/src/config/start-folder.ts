/** The folder that the program of a server is started in. */

import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";

export type StartPlace = {
  /** The workspace, or the root of the project whose server it is. */
  readonly folder: string;
  readonly isProject: boolean;
  readonly home: string;
};

/**
 * `given` is the setting `cwd`. npx, uvx and python look for programs and settings where they are started: in a repository, that
 * would be code of its authors with keys of the user. So a server of the user starts at home, and one of a project in it.
 */
export function startFolder(given: string | undefined, { folder, isProject, home }: StartPlace): string {
  if (given !== undefined) return resolve(folder, inHome(given, home));
  if (isProject) return folder;
  return isAbsolute(home) && existsSync(home) ? home : "/";
}

/** `~/…` in a file, where no shell has seen it. */
export function inHome(path: string, home: string): string {
  return path.startsWith("~/") && isAbsolute(home) ? join(home, path.slice(2)) : path;
}
