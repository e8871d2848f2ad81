/**
 * A path followed step by step, every link included: who owns each step, and who could make it lead elsewhere. `realpath`
 * gives the end of a path only, and a link on the way may belong to anybody.
 */

import { lstat, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";

export type Step = {
  /** Without links in front of its last name. */
  readonly path: string;
  /** The same for every name of one file or folder, also where names differ in case or a folder is mounted twice. */
  readonly identity: string;
  readonly owner: number;
  readonly isLink: boolean;
  /** Anybody may make files in it, or change it. */
  readonly isOpenToAll: boolean;
  /** What is in it can be replaced by its owner only. */
  readonly isSticky: boolean;
};

export type Steps = {
  readonly steps: readonly Step[];
  /** False when the last steps do not exist, or cannot be looked at. */
  readonly isThere: boolean;
};

const MAX_LINKS = 40;

/** Looks at most once at each step, so that many folders of one machine cost little. */
export class PathReader {
  readonly #seen = new Map<string, Promise<Step | undefined>>();

  /** Of an absolute path. */
  async follow(path: string): Promise<Steps> {
    let at = "/";
    let rest = namesIn(path);
    const first = await this.#look(at);
    if (first === undefined) return { steps: [], isThere: false };
    const steps = [first];
    let links = 0;
    for (let [name] = rest; name !== undefined; [name] = rest) {
      rest = rest.slice(1);
      // After `..` the folder above is a step again: the last step is always where the path ends.
      const step = await this.#look(name === ".." ? dirname(at) : join(at, name));
      if (step === undefined) return { steps, isThere: false };
      steps.push(step);
      if (!step.isLink) {
        at = step.path;
        continue;
      }
      links += 1;
      const target = await unlessGone(readlink(step.path));
      if (target === undefined || links > MAX_LINKS) return { steps, isThere: false };
      if (target.startsWith("/")) at = "/";
      rest = [...namesIn(target), ...rest];
    }
    return { steps, isThere: true };
  }

  #look(path: string): Promise<Step | undefined> {
    const seen = this.#seen.get(path) ?? look(path);
    this.#seen.set(path, seen);
    return seen;
  }
}

function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

async function look(path: string): Promise<Step | undefined> {
  const found = await unlessGone(lstat(path, { bigint: true }));
  if (found === undefined) return undefined;
  return {
    path,
    identity: `${found.dev}:${found.ino}`,
    owner: Number(found.uid),
    isLink: found.isSymbolicLink(),
    isOpenToAll: (found.mode & 0o002n) !== 0n,
    isSticky: (found.mode & 0o1000n) !== 0n,
  };
}

async function unlessGone<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}
