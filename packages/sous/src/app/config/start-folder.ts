/** The folder that the program of a server is started in. */

import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { Variables } from "../../core/process.ts";

/** The things that the files of a configuration cannot know. */
export type Surroundings = {
  readonly env: Variables;
  readonly cwd: string;
  readonly projectRoot: string | undefined;
};

export type StartPlace = {
  /** The workspace, or the root of the project whose server it is. */
  readonly folder: string;
  readonly isProject: boolean;
  readonly home: string;
};

export function placeOf(isProject: boolean, { env, cwd, projectRoot }: Surroundings): StartPlace {
  return { folder: (isProject ? projectRoot : undefined) ?? cwd, isProject, home: env.HOME ?? "" };
}

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
